import type { AgentAdapter } from '../../../agents/adapter.ts';
import { readAnswer } from '../../../agents/answer.ts';
import type { Config, ReviewerSettings } from '../../../config/config.ts';
import type { AgentOptions } from '../../../core/agent-options.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { blockingOf, type AgentReview } from '../../../core/review/agent-review.ts';
import { readPatch } from '../../../core/review/read-patch.ts';
import { omit, storyOf } from '../../../core/run/state.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { commitFiles, createCommit } from '../../../git/commit/create-commit.ts';
import { diffCommits } from '../../../git/commit/read-commits.ts';
import { ABSENT, listFiles } from '../../../git/objects/trees.ts';
import { findProtected, PROTECTED_GROUPS } from '../../../git/protect/protected-paths.ts';
import { ignore } from '../../../lib/async.ts';
import { defined } from '../../../lib/guards.ts';
import { readVersion } from '../../../worker/attempt/agent-version.ts';
import { SILENT_JOURNAL } from '../../../worker/attempt/attempt-journal.ts';
import { AttemptEnded, Measurements } from '../../../worker/attempt/attempt-outcome.ts';
import { agentAnswering, type Attempt } from '../../../worker/attempt/open-attempt.ts';
import { judgePaths } from '../../../worker/attempt/phases/approval.ts';
import { runAgent } from '../../../worker/attempt/phases/run-agent.ts';
import type { OpenReview, Reviewing } from '../../../worker/attempt/reviewing.ts';
import { reviewerModel } from '../../../config/choice/reviewer-model.ts';
import { inFolder } from '../../../worker/attempt/tests-first/tests-attempt.ts';
import type { Candidate, Work } from '../../../worker/attempt/work.ts';
import { CANDIDATE, VIEW } from '../../../worker/workspace/sandbox-paths.ts';
import { planReadingSteps } from '../../../worker/workspace/step-plan.ts';
import { Workspace } from '../../../worker/workspace/workspace.ts';
import { buildReviewPrompt } from '../agents/review-prompt.ts';
import { readReview } from '../core/read-review.ts';
import { asksForReview, isRisky } from '../core/risk.ts';

/** The artifacts of a reviewer are in this folder of the attempt. */
const FOLDER = 'review';

/** Reviews by the agents of `[review]`. */
export const REVIEWER: Reviewing = { open: openReview };

/**
 * A change is reviewed once, as its agent made it: not again after a merge with stories that landed meanwhile, and not after
 * a person has approved it.
 */
function openReview(attempt: Attempt, work: Work): OpenReview | undefined {
  const { when, reviewers } = attempt.config.review;
  if (reviewers.length === 0 || work.merges > 0 || work.origin.approval !== undefined) return undefined;
  const isWanted = when === 'always' || asksForReview(attempt.inputs.story);
  if (!isWanted && when !== 'risky') return undefined;
  // A change that may turn out to be harmless is not prepared for.
  const ahead = isWanted ? prepare(attempt, work.candidate, FOLDER) : undefined;
  ahead?.catch(ignore);
  return {
    judge: async (final, measured) => {
      if (!isWanted && !(await isChangeRisky(attempt, final))) return undefined;
      return attempt.journal.phase('review', async () => {
        const isSame = final.candidate.tree === work.candidate.tree;
        const prepared = (isSame ? ahead : undefined) ?? prepare(attempt, final.candidate, `${FOLDER}-final`);
        const review = await judge(attempt, { prepared, candidate: final.candidate, measured });
        await attempt.journal.report({ type: 'review.ended', ...review });
        return review;
      });
    },
  };
}

async function isChangeRisky(attempt: Attempt, { candidate, locked }: Work): Promise<boolean> {
  const { worker, identity, inputs, journal } = attempt;
  const { paths: guarded } = await judgePaths(attempt, candidate);
  // A replay has no journal; it knows that there was a review.
  const state = journal === SILENT_JOURNAL ? inputs.state : await worker.store.readState(identity.runId);
  const story = { ...storyOf(state, inputs.story.id), ...(locked && { locked }) };
  return isRisky({ paths: candidate.changed.map(({ path }) => path), guarded, story });
}

/** A reviewer whose sandbox waits for its prompt. */
interface Prepared {
  session: Attempt;
  /** The first of its answers that objects. */
  objection: () => unknown;
  workspace: Workspace;
  /** The commit of the change, without the words of its author. */
  change: string;
}

/** Starts the sandbox of a reviewer, with the clean tree of a candidate. */
async function prepare(attempt: Attempt, { tree, parent }: Candidate, name: string): Promise<Prepared> {
  const { candidateDir } = attempt.resources;
  const { session, objection } = withObjection(asReviewer(attempt, await chooseReviewer(attempt)));
  // The other services and registries of an agent are not for a reviewer.
  const steps = planReadingSteps(session).map((step) => omit(step, 'services'));
  const workspace = new Workspace(session, name, steps);
  // The message of the candidate has the words of its author.
  const author = { name: 'halo', email: 'halo@localhost' };
  const message = 'The change to review';
  const change = await createCommit({ candidateDir, tree, parent, message, author, date: new Date(0) });
  const commit = await leaveOutAgentFiles(candidateDir, change);
  await workspace.checkOut(commit, candidateDir, [VIEW, CANDIDATE]);
  return { session, workspace, change, objection };
}

/**
 * Notes the first answer that objects: the code under review may run in the sandbox of its reviewer, where it can print
 * lines into the output of the agent, after the answer of the reviewer as well.
 */
function withObjection(session: Attempt): Pick<Prepared, 'session' | 'objection'> {
  const { adapter } = session.agent;
  const criteria = session.inputs.story.acceptance.length;
  let found: unknown;
  const createReader: AgentAdapter['createReader'] = (expected) => {
    const read = adapter.createReader(expected);
    return (line) => {
      const parsed = read(line);
      if (found === undefined && parsed.answerText !== undefined) {
        const answer = otherOf(parsed.answerText);
        if (isObjection(readReview(answer, { criteria, patch: { files: [] } }))) found = answer;
      }
      return parsed;
    };
  };
  const agent = { ...session.agent, adapter: { ...adapter, createReader } };
  return { session: { ...session, agent }, objection: () => found };
}

function otherOf(text: string): unknown {
  const outcome = readAnswer(text);
  return outcome.kind === 'answer' ? outcome.answer.other : undefined;
}

function isObjection(read: ReturnType<typeof readReview>): boolean {
  return !('fault' in read) && blockingOf(read).length > 0;
}

/** Agents read such files as instructions, or run what they name, which the author of the change may have written. */
async function leaveOutAgentFiles(gitDir: string, commit: string): Promise<string> {
  const all = await listFiles({ gitDir, commit }, () => true);
  const paths = all.map(({ path }) => path);
  const found = await findProtected(paths, ['!**', ...PROTECTED_GROUPS.agents]);
  if (found.length === 0) return commit;
  const id = '0'.repeat(commit.length);
  const files = found.map((path) => ({ mode: ABSENT, id, path }));
  const message = 'The change to review, without files that instruct agents';
  return commitFiles({ gitDir, parent: commit, files, message });
}

/** The first reviewer with a key; if none has one, the first one, whose error says what is missing. */
async function chooseReviewer({ config, worker }: Attempt): Promise<ReviewerSettings> {
  // A story may have another agent than its run.
  const isOther = ({ model }: ReviewerSettings) => model.api !== config.model.api;
  const reviewers = config.review.reviewers.toSorted((a, b) => Number(isOther(b)) - Number(isOther(a)));
  const [first] = reviewers;
  if (first === undefined) throw new HaloError('INTERNAL', 'A review without a reviewer.');
  if (config.model.mode === 'replay') return first;
  for (const each of reviewers) if (await hasKey(worker, each)) return each;
  return first;
}

function hasKey(worker: Attempt['worker'], { model }: ReviewerSettings): Promise<boolean> {
  if (model.api === undefined) return Promise.resolve(true);
  return worker.readProviderKeys(model).then(
    () => true,
    (error: unknown) => {
      if (isKeyMissing(error)) return false;
      throw error;
    },
  );
}

function isKeyMissing(error: unknown): error is HaloError {
  return error instanceof HaloError && error.code === 'MODEL_KEY_MISSING';
}

/** What every reviewer is started with, whatever a run has chosen for its own agent. */
const OPTIONS: Record<string, AgentOptions> = {
  claude: { tools: ['Bash', 'Glob', 'Grep', 'Read'] },
  // Its own instructions may be part of the change.
  codex: { config: { project_doc_max_bytes: 0 } },
};

/** The attempt as its reviewer sees it. */
function asReviewer(attempt: Attempt, { agent, agentCommand, model }: ReviewerSettings): Attempt {
  const { journal, worker } = attempt;
  const config: Config = {
    ...attempt.config,
    agent,
    agentCommand,
    agentAnswer: 'json',
    agentOptions: OPTIONS[agent] ?? {},
    setup: [],
    model: { ...reviewerModel(attempt.config, { model }), fallback: [], allow: [] },
    network: { ...attempt.config.network, agentRegistries: [] },
  };
  const { gatewayToken } = attempt.agent;
  return {
    ...attempt,
    task: 'review',
    config,
    agent: agentAnswering('review', { config, gatewayToken: `${gatewayToken}-review` }),
    worker: { ...worker, store: inFolder(worker.store, FOLDER) },
    // The phase has begun already, and the agent of the attempt is its author.
    journal: {
      report: (...entries) => journal.report(...entries.filter(({ type }) => type !== 'agent.launched')),
      phase: (_phase, action) => action(),
    },
  };
}

interface Judged {
  prepared: Promise<Prepared>;
  candidate: Candidate;
  measured: Measurements;
}

const TWO_ANSWERS = 'its output has an answer that objects, and then one that does not';

/** Lets the reviewer work. Whatever it does, the result is a review. */
async function judge(attempt: Attempt, { prepared, candidate, measured }: Judged): Promise<AgentReview> {
  const { commit, parent } = candidate;
  const own = new Measurements();
  let session: Attempt | undefined;
  let version: string | undefined;
  const none = { findings: [], criteria: [] };
  const review = (found: Pick<AgentReview, 'findings' | 'criteria' | 'failed'>): AgentReview => {
    const { agent, model } = session?.config ?? { ...attempt.config.review.reviewers[0], model: undefined };
    const ofModel = model?.api === undefined ? {} : { model: model.name };
    return { agent: agent ?? '', ...defined({ version }), ...ofModel, commit, ...found };
  };
  try {
    const ready = await prepared;
    session = ready.session;
    version = await readVersion(session);
    const { candidateDir } = attempt.resources;
    const patch = (await diffCommits({ gitDir: candidateDir, from: parent, to: commit })).toString('utf8');
    const { story } = attempt.inputs;
    const prompt = buildReviewPrompt({ story, patch, parent, change: ready.change }).text;
    const answer = await runAgent(session, ready.workspace, { measured: own, prompt });
    const read = readReview(answer.other, { criteria: story.acceptance.length, patch: readPatch(patch) });
    if ('fault' in read) return review({ ...none, failed: read.fault });
    const isTaken = ready.objection() !== undefined && !isObjection(read);
    return review(isTaken ? { ...none, failed: TWO_ANSWERS } : read);
  } catch (error) {
    const why = attempt.signal.aborted ? undefined : describeEnd(error);
    if (why === undefined) throw error;
    return review({ ...none, failed: safeLine(why, 500) });
  } finally {
    measured.addUsage(own.current.usage);
  }
}

/** Why a reviewer ended without a review; undefined if that is a fault of the worker or its environment, or a person's wish. */
function describeEnd(error: unknown): string | undefined {
  if (isKeyMissing(error)) return error.message;
  if (!(error instanceof AttemptEnded) || error.outcome.stopReason === 'USER_ABORT') return undefined;
  const { stopReason, summary } = error.outcome;
  return `${stopReason}: ${summary}`;
}
