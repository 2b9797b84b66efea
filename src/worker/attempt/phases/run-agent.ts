import { readVersion } from '../agent-version.ts';
import { formatAnswer } from '../../../agents/answer.ts';
import type { TestsFirst } from '../../../agents/prompt/build-prompt.ts';
import { NO_USAGE, type AgentAnswer, type Usage } from '../../../core/agent.ts';
import { classifyFailure } from '../../../core/failure/failure.ts';
import { commandFor, testGlobsOf } from '../../../core/review/tests-first.ts';
import type { StoryMessage } from '../../../core/run/messages.ts';
import { storyOf, type Hint } from '../../../core/run/state.ts';
import { defined } from '../../../lib/guards.ts';
import { maskingSink } from '../../../lib/secrets/masker.ts';
import { tailSink } from '../../../lib/streams.ts';
import { forwardsOf, recordNetwork, wrapWithForwarder } from '../../network/channel.ts';
import { answerFormOf, buildStoryPrompt } from '../../story-prompt.ts';
import type { Forward } from '../../workspace/step-services.ts';
import type { StartedStep, StepEgress, Workspace } from '../../workspace/workspace.ts';
import { AttemptEnded, type AgentMeasurements, type Measurements } from '../attempt-outcome.ts';
import { keepLeftWork } from '../kept-work.ts';
import type { LiveInput } from '../live-input.ts';
import type { Attempt } from '../open-attempt.ts';
import type { Candidate } from '../work.ts';
import { openActivityBatcher, openRunCollector, type AgentRun } from './collect-agent-run.ts';
import { readWorkspace, type Exporter } from './export-tree.ts';
import { importWork } from './import-candidate.ts';
import { findGatewayStop, judgeAgentRun, type AgentJudgement } from './judge-agent-run.ts';
import type { HaloError } from '../../../core/failure/errors.ts';
import { dropSession } from '../../workspace/story-session.ts';
import { readHostLoad } from '../../../lib/host-load.ts';
import { ignore } from '../../../lib/async.ts';
import { watchSilence } from './watch-silence.ts';

interface AgentOptions {
  /** Reads what an agent that failed left behind. */
  exporter?: Exporter | undefined;
  /** Receives what is measured of the agent, however it ends. */
  measured: Measurements;
  /** Default: the prompt of the story. */
  prompt?: string;
}

/** Lets the agent work on the story, and returns its answer of status `ok`. Throws what ended the attempt. */
export async function runAgent(
  attempt: Attempt,
  work: Workspace,
  { exporter, measured: total, prompt }: AgentOptions,
): Promise<AgentAnswer> {
  await exporter?.ready;
  let measured: AgentMeasurements = { usage: NO_USAGE };
  const running = attempt.journal.phase('agent', async () => {
    const step = await work.takeNext();
    await step.services?.ready('agent');
    const following = followAgent(attempt, step, prompt).then(async ({ run, judgement }) => {
      measured = { ...measured, output: run.output, denied: run.denied };
      // A question is an answer, also beside a service that has ended.
      const { end } = judgement;
      const asks = end instanceof AttemptEnded && end.outcome.verdict === 'needs_human';
      if (!attempt.signal.aborted) await step.services?.end({ failed: end !== undefined && !asks });
      if (end === undefined) return judgement.answer;
      if (hasLostSession(attempt, step, end)) {
        await step.sandbox.remove();
        await dropSession(attempt);
        throw new AttemptEnded({ ...end.outcome, lostSession: true });
      }
      throw end;
    });
    // oxlint-disable-next-line typescript/no-misused-promises -- `finally` waits for the promise
    const answer = await following.finally(async () => {
      // Closing waits for all requests to report their usage.
      await step.egress?.channel.close();
      const usage: Usage = step.egress?.channel.gateway.usage() ?? NO_USAGE;
      measured = { ...measured, usage };
      await recordUsage(attempt, step, usage);
    });
    // The last request may have reported its usage only after the agent's end.
    const stopped = step.egress?.channel.gateway.stopped();
    const overrun = stopped?.cause === 'overrun' ? findGatewayStop(stopped, answer.summary) : undefined;
    if (overrun !== undefined) throw overrun;
    return answer;
  });
  try {
    const answer = await running;
    total.add(measured);
    return answer;
  } catch (error) {
    const saved = exporter && (await savePartialWork(attempt, exporter));
    total.add({ ...measured, changed: saved?.changed });
    throw await keepLeftWork(attempt, error, saved?.candidate);
  }
}

/**
 * Whether the agent could not continue its session: it failed without a request to its model. What it says of that is not
 * trusted, and does not matter.
 */
function hasLostSession(
  { session, agent }: Attempt,
  { egress }: StartedStep,
  end: AttemptEnded | HaloError,
): end is AttemptEnded {
  if (agent.launch.sessionDir === undefined || session?.start !== 'continued') return false;
  if (!(end instanceof AttemptEnded) || !['ENGINE_ERROR', 'INVALID_OUTPUT'].includes(end.outcome.stopReason))
    return false;
  const gateway = egress?.channel.gateway;
  const asked = gateway?.usage().requests ?? 0;
  return asked === 0 && gateway?.problem() === undefined && gateway?.stopped() === undefined;
}

/** Runs the agent, reports its activities, and keeps its output and its answer among the artifacts. */
async function followAgent(
  attempt: Attempt,
  { sandbox, egress, outputPipe, forwards }: StartedStep,
  given: string | undefined,
): Promise<{ run: AgentRun; judgement: AgentJudgement }> {
  const { config, worker, journal, signal, session } = attempt;
  const { adapter } = attempt.agent;
  const { location } = attempt.identity;
  if (given !== undefined) await worker.store.writeArtifact(location, 'prompt.md', given);
  const { text: prompt, shown } = given === undefined ? await writePrompt(attempt) : { text: given, shown: [] };
  const { agent, agentOptions, model } = config;
  const ofModel = model.api === undefined ? {} : { model: model.name };
  const version = await readVersion(attempt);
  const began = attempt.agent.launch.sessionDir === undefined ? {} : { session: session?.start };
  const launched = { agent, ...defined({ version, ...began }), ...ofModel, ...agentOptions };
  await journal.report({ type: 'agent.launched', ...launched });
  const stderr = tailSink(8_192);
  const { story, state } = attempt.inputs;
  const form = state.planning || attempt.task === 'review' ? 'json' : answerFormOf(config, adapter);
  const read = adapter.createReader({ story: story.id, form, testsOnly: attempt.task === 'tests' });
  const collector = openRunCollector({ read, isTalk: (lines) => adapter.isTalk?.(lines, form) === true });
  const batcher = openActivityBatcher((activities) =>
    journal.report(...activities.map((activity) => ({ type: 'agent.activity' as const, activity }))),
  );
  let isHere = false;
  worker.engine.isHere().then((here) => (isHere = here), ignore);
  const silence = watchSilence(
    (text) => batcher.add([{ kind: 'warn', text }]),
    () => (isHere ? readHostLoad() : undefined),
  );
  const input = openInput(attempt, { prompt, shown, egress });
  const stdout = worker.store.openRaw(location, (lines) => {
    silence.heard();
    input?.hear(lines);
    return batcher.add(collector.add(lines));
  });
  const { wallMs, idleMs, outputBytes } = config.limits;
  const exit = await sandbox
    .run({
      script: agentScript(attempt, egress, forwards),
      stdin: input?.stdin ?? prompt,
      stdout,
      stderr: maskingSink(worker.masker, stderr.sink),
      wallMs,
      idleMs,
      outputBytes,
      ...defined({ outputPipe }),
      signal,
    })
    // Nothing may be reported after the attempt has ended.
    // oxlint-disable-next-line typescript/no-misused-promises -- `finally` waits for the promise
    .finally(() => {
      silence.stop();
      return Promise.all([batcher.flush(), input?.close()]);
    });
  const stderrTail = stderr.text();
  const missing = stderr.missing() === 0 ? '' : `[halo: ${stderr.missing()} bytes are missing here]\n`;
  await worker.store.writeArtifact(location, 'agent.stderr.log', `${missing}${stderrTail}`);
  const run = collector.run();
  const denied = run.denied ?? adapter.findDenial?.(stderrTail);
  const gateway = egress?.channel.gateway;
  const judgement = judgeAgentRun(run, {
    ...{ exit, stderrTail, config, adapter },
    stopped: gateway?.stopped(),
    problem: gateway?.problem(),
  });
  if (judgement.answer !== undefined)
    await worker.store.writeArtifact(location, 'result.json', formatAnswer(asResult(attempt, judgement.answer)));
  return { run: { ...run, denied }, judgement };
}

/** The input of an agent that takes messages; undefined for others. */
function openInput(
  { agent, worker, inputs, identity, journal }: Attempt,
  { prompt, shown, egress }: { prompt: string; shown: readonly string[]; egress: StepEgress | undefined },
): LiveInput | undefined {
  const session = agent.openSession?.();
  if (session === undefined) return undefined;
  const { runId } = identity;
  const source = {
    readState: () => worker.store.readState(runId),
    followState: (signal: AbortSignal) => worker.store.followState(runId, signal),
  };
  return worker.openLiveInput?.({
    ...{ session, prompt, shown, story: inputs.story.id },
    // A repetition of an attempt belongs to no run.
    source: journal.silent ? undefined : source,
    cassette: egress?.channel.gateway,
    onListens: (when) => journal.report({ type: 'agent.listens', ...(when === 'after' && { when }) }),
    onTaken: (ids) => journal.report({ type: 'message.delivered', ids: [...ids], how: 'live' }),
  });
}

/** The answer as it is kept; that of a dry run says so. */
function asResult({ inputs }: Attempt, answer: AgentAnswer): AgentAnswer {
  return inputs.state.dry ? { ...answer, other: { ...answer.other, dry: true } } : answer;
}

/** A script that writes the agent's files into its in-memory home and starts it, behind the forwarder if it has a channel. */
function agentScript(
  { agent, resources }: Attempt,
  egress: StepEgress | undefined,
  services: readonly Forward[],
): string {
  const { files, script } = agent.launch;
  const writes = Object.entries(files).map(([path, content]) => {
    const encoded = Buffer.from(content).toString('base64');
    return `mkdir -p "$(dirname ${path})" && printf %s ${encoded} | base64 -d > ${path}`;
  });
  const forwards = [...forwardsOf(resources.channel, egress?.channel), ...services];
  return [...writes, ...(egress === undefined ? [] : [egress.script]), wrapWithForwarder(forwards, script)].join('\n');
}

/** Records what the gateway metered; the agent's own figures do not count. */
async function recordUsage(attempt: Attempt, { sandbox, egress }: StartedStep, usage: Usage): Promise<void> {
  const { worker, identity } = attempt;
  const channel = egress?.channel;
  await worker.store.writeArtifact(identity.location, 'usage.json', `${JSON.stringify(usage, null, 2)}\n`);
  const divergence = channel?.gateway.divergence();
  if (divergence !== undefined)
    await worker.store.writeArtifact(identity.location, 'divergence.txt', `${divergence}\n`);
  if (channel !== undefined) await recordNetwork(attempt, 'agent', channel);
  worker.inBackground(sandbox.remove());
}

/**
 * Saves the changes of an agent that failed or needs a person as a patch among the artifacts, because the volume is
 * removed. They pass the same checks as finished work. Undefined if they could not be read. Never throws.
 */
async function savePartialWork(
  attempt: Attempt,
  exporter: Exporter,
): Promise<{ changed: boolean; candidate: Candidate | undefined } | undefined> {
  const { signal, worker, identity } = attempt;
  if (signal.aborted) return undefined;
  try {
    const candidate = await importWork(attempt, await readWorkspace(attempt, exporter), 'unfinished work');
    return { changed: candidate !== undefined, candidate };
  } catch (error) {
    worker.log.info({ attempt: identity.id, err: error }, 'unfinished work could not be saved');
    return undefined;
  }
}

/** Builds the prompt of an attempt, records what is in it, and keeps it among its artifacts. */
async function writePrompt(attempt: Attempt): Promise<{ text: string; shown: string[] }> {
  const { inputs, config, worker, identity, agent, resources, journal } = attempt;
  const { prd, state, story, base } = inputs;
  const hint = hintFor(attempt);
  const messages = await readMessages(attempt);
  const { prompt, problems } = await buildStoryPrompt({
    gitDir: resources.mirrorDir,
    runBase: state.repo.base,
    base,
    prd,
    story,
    config,
    adapter: agent.adapter,
    dry: state.dry,
    planning: state.planning,
    testsFirst: testsFirstOf(attempt),
    services: worker.services.addresses(config, 'agent'),
    ...(await readReviews(attempt)),
    messages,
    progress: state.stories
      .filter(({ progress }) => progress === 'passed' && !state.dry)
      .map(({ id, title, summary }) => ({ id, title, summary: summary ?? '' })),
    ...(hint === undefined ? {} : { lastFailure: await readFailure(attempt, hint) }),
  });
  const { text, tokens, maxTokens, sections } = prompt;
  const missing = problems.length === 0 ? {} : { missing: problems };
  const record = { tokens, maxTokens, sections, ...missing };
  await worker.store.writeArtifact(identity.location, 'prompt.md', text);
  await worker.store.writeArtifact(identity.location, 'prompt.json', `${JSON.stringify(record, null, 2)}\n`);
  const shown = messages.map(({ id }) => id);
  const delivered =
    shown.length === 0 ? [] : [{ type: 'message.delivered' as const, ids: shown, how: 'prompt' as const }];
  await journal.report({ type: 'prompt.built', ...record }, ...delivered);
  return { text, shown };
}

/** The messages to the story so far, also those that were sent after the attempt began. */
async function readMessages({ inputs, worker, identity, journal }: Attempt): Promise<StoryMessage[]> {
  // A repetition of an attempt belongs to no run.
  const state = journal.silent ? inputs.state : await worker.store.readState(identity.runId);
  return storyOf(state, inputs.story.id).messages ?? [];
}

/** What people said about earlier attempts, and the work of the attempt with which this one continues. */
async function readReviews({ inputs, continued, worker, identity, task }: Attempt) {
  const { answered, feedback, commit: landed } = storyOf(inputs.state, inputs.story.id);
  const said = defined({ answered, feedback, landed });
  // The commit that it refactors is the last one.
  if (continued === undefined || task === 'refactor') return said;
  const { attempt, commit } = continued;
  if (commit !== undefined) return { ...said, earlier: { attempt } };
  const patch = await worker.store.readArtifact({ ...identity.location, attempt }, 'diff.patch');
  return patch === undefined || patch === '' ? said : { ...said, earlier: { attempt, patch } };
}

/** What the prompt says about an earlier failure: one of the tests concerns only the agent that writes them. */
function hintFor({ inputs, locked, task }: Attempt): Hint | undefined {
  if (task === 'refactor') return undefined;
  const { hint, lastFailure } = storyOf(inputs.state, inputs.story.id);
  const classes = [lastFailure?.class, ...(hint ? [classifyFailure({ stopReason: hint.reason }).class] : [])];
  const isOfTests = classes.includes('tests');
  return isOfTests && locked !== undefined ? undefined : hint;
}

function testsFirstOf({ config, inputs, task, locked }: Attempt): TestsFirst | undefined {
  const { command = '', files } = config.tests;
  if (task === 'tests') return { command, write: testGlobsOf(files, inputs.story) };
  const refactor = task === 'refactor';
  return locked && { command: commandFor(locked), locked: locked.files.map(({ path }) => path), refactor };
}

async function readFailure({ worker, identity, inputs }: Attempt, { attempt, reason, summary, withLog }: Hint) {
  const location = { ...identity.location, attempt };
  const log = withLog ? await worker.store.readArtifact(location, 'failure.log') : undefined;
  const { ignored } = storyOf(inputs.state, inputs.story.id);
  return { reason, summary, tail: log ?? '', attempt: identity.attempt, ...defined({ ignored }) };
}
