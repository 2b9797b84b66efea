import { buildPrompt, type PromptInput } from '../../agents/prompt.ts';
import { NO_USAGE, type AgentActivity, type AgentAnswer, type AgentOutcome, type Usage } from '../../core/agent.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Problem, Stopped } from '../../gateway/ledger.ts';
import { readFileAt } from '../../git/repository/inspect-repo.ts';
import type { Hint } from '../../core/fold-failure.ts';
import { collectText } from '../../lib/sinks.ts';
import { maskInto } from '../../lib/secrets/masking-sink.ts';
import { splitLines } from '../../lib/split-lines.ts';
import type { Attempt } from '../attempt-context.ts';
import { throughChannel } from '../carry.ts';
import { AttemptOver, failed, failedBy, refuseBrokenExit } from '../story-end.ts';
import { reportNetwork } from '../report-network.ts';
import { openTeller } from '../tell-activities.ts';
import type { StartedStep, Way, Workspace } from '../workspace.ts';

const GUIDANCE_BYTES = 64 * 1024;

/** Lets the agent implement the story; every end but a valid `ok` ends the attempt. */
export async function runAgent(attempt: Attempt, work: Workspace): Promise<AgentAnswer> {
  return attempt.phase('agent', async () => {
    const started = await work.take();
    const answer = await followAgent(attempt, started).finally(() => keepUsage(attempt, started));
    // What was asked for last has told what it used only now.
    const stopped = started.way?.channel.gateway.stopped();
    if (stopped?.cause === 'overrun') refuseStopped(stopped, answer.summary);
    return answer;
  });
}

async function followAgent(attempt: Attempt, { sandbox, way }: StartedStep): Promise<AgentAnswer> {
  const { adapter, config, worker, place, measured } = attempt;
  const prompt = await writePrompt(attempt);
  const raw = worker.store.openRaw(place);
  const stderr = collectText(8_192);
  const read = adapter.createReader();
  let answerText: string | undefined;
  let error: string | undefined;
  /** What it was not permitted, if that was the last thing that it tried. */
  let refused: string | undefined;
  const teller = openTeller((activities) =>
    attempt.report(...activities.map((activity) => ({ type: 'agent.activity' as const, activity }))),
  );
  const stdout = splitLines({
    keep: raw,
    onLines: async (lines) => {
      const activities: AgentActivity[] = [];
      for (const line of lines) {
        measured.output = (measured.output ?? 0) + line.length;
        const parsed = read(line);
        if (parsed.activities.some(({ kind }) => kind === 'ran' || kind === 'edit')) refused = undefined;
        refused = parsed.denied ?? refused;
        measured.denied ??= parsed.denied;
        answerText = parsed.answerText ?? answerText;
        error = parsed.error ?? error;
        activities.push(...parsed.activities);
      }
      await teller.tell(activities);
    },
  });
  const { wallMs, idleMs, outputBytes } = config.limits;
  const exit = await sandbox
    .run({
      script: agentScript(attempt, way),
      stdin: prompt,
      stdout: maskInto(worker.masker, stdout),
      stderr: maskInto(worker.masker, stderr.sink),
      wallMs,
      idleMs,
      outputBytes,
      signal: attempt.signal,
    })
    // However it ended: nothing is told of an attempt that is over.
    .finally(() => teller.done());
  const tail = stderr.text();
  const missing = stderr.missing() === 0 ? '' : `[halo: ${stderr.missing()} bytes are missing here]\n`;
  await worker.store.writeArtifact(place, 'agent.stderr.log', `${missing}${tail}`);
  measured.denied ??= adapter.deniedIn?.(tail);
  const stopped = exit.ended === 'aborted' ? undefined : way?.channel.gateway.stopped();
  if (exit.ended !== 'exited') refuseStopped(stopped, tail);
  refuseBrokenExit(exit, { what: adapter.title, limits: config.limits }, tail);
  const outcome = adapter.outcome({ exitCode: exit.exitCode, answerText, error, stderrTail: tail });
  if (outcome.kind !== 'answer' || outcome.answer.status !== 'ok') refuseStopped(stopped, tail);
  switch (outcome.kind) {
    case 'invalid':
      throw blamed(refused, failed('INVALID_OUTPUT', outcome.error, answerText ?? tail));
    case 'error':
      throw explain(outcome, way?.channel.gateway.problem(), tail);
    case 'answer':
      await worker.store.writeArtifact(place, 'result.json', `${JSON.stringify(outcome.answer, null, 2)}\n`);
      return requireOk(outcome.answer, refused);
  }
}

/** What the gateway saw goes before what the agent says: only that is not the sandbox's own word. */
function explain({ error, cause }: AgentOutcome & { kind: 'error' }, problem: Problem | undefined, tail: string) {
  if (problem === undefined) return failedBy(cause, failed('ENGINE_ERROR', error, tail));
  return failedBy(problem.cause ?? cause, failed('ENGINE_ERROR', problem.sentence, tail));
}

/** An agent whose model requests were not let through could do nothing: that is why it ended as it did. */
function refuseStopped(stopped: Stopped | undefined, tail: string): void {
  if (stopped?.cause === 'budget' || stopped?.cause === 'overrun')
    throw failed('BUDGET_EXCEEDED', stopped.sentence, tail);
  if (stopped?.cause === 'fault') throw new HaloError('BUDGET_UNKNOWN', stopped.sentence);
}

function requireOk(answer: AgentAnswer, refused: string | undefined): AgentAnswer {
  switch (answer.status) {
    case 'ok':
      return answer;
    case 'needs_human':
      throw new AttemptOver({ verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary: answer.summary });
    case 'failed':
      throw blamed(refused, failedBy('gave-up', failed('ENGINE_ERROR', `the agent gave up: ${answer.summary}`)));
  }
}

/** An agent that does not come to an end because it may not do what it wants will not do so in another attempt. */
function blamed(refused: string | undefined, over: AttemptOver): AttemptOver {
  if (refused === undefined) return over;
  const summary = `${over.end.summary}\nIts own rules did not permit it: ${safeLine(refused, 300)}`;
  return failedBy('permission-denied', new AttemptOver({ ...over.end, summary }));
}

async function writePrompt(attempt: Attempt): Promise<string> {
  const { prd, state, story, config, worker, place } = attempt;
  const hint = state.stories.find(({ id }) => id === story.id)?.hint;
  const prompt = buildPrompt({
    prd,
    story,
    progress: state.stories
      .filter(({ progress }) => progress === 'passed')
      .map(({ id, title, summary }) => ({ id, title, summary: summary ?? '' })),
    guidance: await readGuidance(attempt),
    gates: config.gates ?? [],
    ...(hint === undefined ? {} : { lastFailure: await readFailure(attempt, hint) }),
  });
  await worker.store.writeArtifact(place, 'prompt.md', prompt);
  return prompt;
}

async function readFailure({ worker, place }: Attempt, { attempt, reason, summary, withLog }: Hint) {
  const log = withLog ? await worker.store.readArtifact({ ...place, attempt }, 'failure.log') : undefined;
  return { reason, summary, tail: log ?? '' };
}

/** What the agent does not read by itself. A file that is only a link or a reference to the other one says nothing new. */
async function readGuidance({ adapter, mirrorDir, base }: Attempt): Promise<PromptInput['guidance']> {
  const files = adapter.guidanceFiles.map(async (file) => {
    const text = await readFileAt({ gitDir: mirrorDir, commit: base, path: file, maxBytes: GUIDANCE_BYTES, cut: true });
    return { file, text: text ?? '' };
  });
  const found = (await Promise.all(files)).filter(({ text }) => !['', ...REFERENCES].includes(text.trim()));
  return found.filter(({ text }, index) => found.findIndex((other) => other.text === text) === index);
}

const REFERENCES = ['AGENTS.md', '@AGENTS.md', 'CLAUDE.md', '@CLAUDE.md'];

/** Writes the agent's files into its own home, in memory, and starts it behind the forwarder when it needs a model. */
function agentScript(attempt: Attempt, way: Way | undefined): string {
  const { launch } = attempt;
  const files = Object.entries(launch.files).map(([path, content]) => {
    const encoded = Buffer.from(content).toString('base64');
    return `mkdir -p "$(dirname ${path})" && printf %s ${encoded} | base64 -d > ${path}`;
  });
  if (way === undefined) return [...files, launch.script].join('\n');
  return [...files, way.script, throughChannel(attempt, way.channel.port, launch.script)].join('\n');
}

/** Metered by the gateway, whatever the agent says of itself. */
async function keepUsage(attempt: Attempt, { sandbox, way }: StartedStep): Promise<void> {
  const channel = way?.channel;
  // First, because only then every request has told what it used.
  await channel?.close();
  const usage: Usage = channel?.gateway.usage() ?? NO_USAGE;
  attempt.usage = usage;
  await attempt.worker.store.writeArtifact(attempt.place, 'usage.json', `${JSON.stringify(usage, null, 2)}\n`);
  const divergence = channel?.gateway.divergence();
  if (divergence !== undefined)
    await attempt.worker.store.writeArtifact(attempt.place, 'divergence.txt', `${divergence}\n`);
  if (channel !== undefined) await reportNetwork(attempt, 'agent', channel);
  attempt.worker.inBackground(sandbox.remove());
}
