import { createHash } from 'node:crypto';
import { limitStack, MAX_OPEN, planBranchPull, planBranches, type PullBranch } from '../core/plan-stack.ts';
import { HaloError, toHaloError } from '../../../core/failure/errors.ts';
import type { PlannedPull, PullFacts } from '../core/plan-pull.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';
import { assertConfirmed, landingChanges, secretsToConfirm, type Confirmation } from '../../../core/review/flags.ts';
import type { NotedCommit, RunState } from '../../../core/run/state.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Pull, PullRequests } from '../../../forge/forge.ts';
import { mirrorPath } from '../../../git/mirror/mirror.ts';
import { hasPushedCommit, pushRefs } from '../../../git/repository/push-refs.ts';
import { defined } from '../../../lib/guards.ts';
import { hostGitDirOf } from '../../../worker/repository/host-repository.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';
import type { PullTarget } from './open-pull-target.ts';

type SendContext = Pick<WorkerContext, 'store' | 'log' | 'home' | 'masker'>;

/** What a run shows on its forge. */
interface ShownRun {
  state: RunState;
  /** The runs whose results it started from: a push sends their commits as well. */
  continued: readonly RunState[];
  events: readonly JournalEvent[];
  facts: PullFacts;
  /** One pull request for the run, or one for each story. */
  mode: 'run' | 'story';
}

/** A branch and its pull request, if there is one. */
interface Slot {
  branch: PullBranch;
  pull?: Pull | undefined;
  /** People have merged or closed it. */
  isEnded: boolean;
}

/**
 * Sends what the forge lacks: branches and proofs, pull requests, their texts, and statuses. From the bottom of the stack
 * to its top, so that the base of each pull request exists. `sent`: what it has sent before, which is not sent again.
 * Throws FORGE_FAILED, also after sending the rest, if people have pushed to a branch or the stack is too large.
 */
export async function sendPulls(
  context: SendContext,
  run: ShownRun,
  { pulls, target, base }: PullTarget,
  sent: Map<string, string>,
): Promise<void> {
  const { state, mode } = run;
  const planned = planBranches(run.events, state, mode);
  const branches = limitStack(planned, state);
  forgetOlderCommits(sent, branches);
  const slots: Slot[] = [];
  for (const branch of branches) slots.push(await readSlot(context, state, { branch, pulls }));
  const refused = await push(context, run, { slots, target, sent });
  for (const [nth, slot] of slots.entries()) {
    if (slot.isEnded || slot.pull !== undefined) continue;
    const { title, body, isDraft } = contentOf(context, run, { slots, nth });
    slot.pull = await pulls.createPull({
      ...{ title, body, isDraft },
      ...{ branch: slot.branch.name, base: baseOf(slots, nth) ?? base },
    });
    await journal(context, state, slot);
  }
  for (const [nth, { pull, isEnded, branch }] of slots.entries()) {
    if (pull === undefined || isEnded) continue;
    const { statuses, ...content } = contentOf(context, run, { slots, nth });
    const wanted = baseOf(slots, nth) ?? base;
    // A base that people have chosen stays.
    const isOfStack = branches.some(({ name }) => name === pull.base);
    const change = { ...content, ...(pull.base !== wanted && isOfStack && { base: wanted }) };
    await once(sent, pull.url, change, () => pulls.updatePull(pull.number, change));
    // The forge lacks the commit.
    if (refused?.branch === branch) continue;
    const commit = branch.commits.at(-1) ?? state.tip;
    for (const status of statuses)
      await once(sent, `${commit} ${status.context}`, status, () => pulls.setStatus(commit, status));
  }
  if (refused !== undefined) throw refused.error;
  if (branches.length < planned.length) throw stackTooLarge(state, planned.length - branches.length);
}

function stackTooLarge({ runId }: RunState, left: number): HaloError {
  return new HaloError(
    'FORGE_FAILED',
    `The stack of run ${runId} has ${MAX_OPEN} open pull requests, the most that halo opens; ${left} more follow when these are merged.`,
  );
}

async function readSlot(
  context: SendContext,
  state: RunState,
  { branch, pulls }: { branch: PullBranch; pulls: PullRequests },
): Promise<Slot> {
  const known = state.pulls?.find((each) => each.branch === (branch.story && branch.name));
  const pull =
    known?.ended === undefined || branch.story === undefined
      ? await pulls.findPull(branch.name, known?.number)
      : undefined;
  if (pull === undefined) return { branch, isEnded: known?.ended !== undefined };
  const slot = { branch, pull, isEnded: pull.state !== 'open' };
  await journal(context, state, slot);
  return slot;
}

/** What the journal does not say yet about a pull request. */
async function journal({ store }: SendContext, { runId, pulls = [] }: RunState, slot: Slot): Promise<void> {
  const { pull, branch, isEnded } = slot;
  if (pull === undefined) return;
  const { number, url, state } = pull;
  const known = pulls.find((each) => each.number === number);
  if (known === undefined || (known.ended !== undefined && !isEnded)) {
    const place = branch.story === undefined ? {} : { branch: branch.name, of: branch.story };
    await store.append(runId, [{ type: 'pull.opened', number, url: safeLine(url, 500), ...place }]);
  }
  if (isEnded && known?.ended === undefined)
    await store.append(runId, [
      { type: 'pull.closed', number, merged: state === 'merged', ...defined({ head: pull.head }) },
    ]);
}

/** Throws UNCONFIRMED unless a person confirms, or has confirmed, each possible secret that the push would publish. */
export function assertPublishable(
  run: RunState,
  { secrets, continued }: { secrets: readonly NotedCommit[]; continued: readonly RunState[] },
  confirmation?: Confirmation,
): void {
  if (secrets.length === 0) return;
  const secretsOf = (of: RunState) => landingChanges(of).filter((each) => secrets.includes(each));
  const others = continued.map((other) => ({ runId: other.runId, changes: secretsOf(other) }));
  const decision = { verb: 'pr', flags: ['secret'], runId: run.runId, commit: run.tip } as const;
  const named = others.filter(({ changes }) => changes.length > 0);
  assertConfirmed({ ...decision, changes: secretsOf(run), continued: named }, confirmation);
}

/** A branch to which people have pushed, so that halo cannot. */
interface RefusedPush {
  branch: PullBranch;
  error: HaloError;
}

/**
 * Pushes new branches, and those whose head is an older commit of their own. Never what is merged, perhaps deleted. Throws
 * UNCONFIRMED before any push that would publish a possible secret, and FORGE_FAILED, except for the top of the stack if it
 * has commits of others.
 */
async function push(
  { home, log }: SendContext,
  { state, continued }: ShownRun,
  { slots, target, sent }: { slots: readonly Slot[]; target: PullTarget['target']; sent: Map<string, string> },
): Promise<RefusedPush | undefined> {
  const isTop = (slot: Slot) => slot === slots.at(-1);
  const outdated = slots.filter((slot) => {
    const { pull, isEnded, branch } = slot;
    const commit = branch.commits.at(-1);
    if (isEnded || pull?.head === commit) return false;
    // What people have pushed to a branch below stays.
    return pull?.head === undefined || isTop(slot) || branch.commits.includes(pull.head);
  });
  if (outdated.length > 0) assertPublishable(state, { secrets: secretsToConfirm(state, continued), continued });
  const { runId, repo } = state;
  const repositories = { mirrorDir: mirrorPath(home, repo.mirror), hostGitDir: await hostGitDirOf(home, repo) };
  const pushAll = async (pushed: readonly PullBranch[]) => {
    const branches = pushed.map(({ name, commits, base }) => ({ name, commit: commits.at(-1) ?? base }));
    const unsent = await pushRefs({ ...repositories, ...target, branches });
    if (unsent !== undefined) log.warn({ runId, why: unsent }, 'proofs of commits were not pushed');
    for (const { name, commit } of branches) sent.set(`push ${name}`, commit);
  };
  const shared = outdated.find(({ pull, branch }) => pull?.head !== undefined && !branch.commits.includes(pull.head));
  await pushAll(outdated.filter((slot) => slot !== shared).map(({ branch }) => branch));
  // Others have added to what halo has pushed.
  if (shared === undefined || sent.get(`push ${shared.branch.name}`) === shared.branch.commits.at(-1)) return undefined;
  const { branch, pull } = shared;
  try {
    await pushAll([branch]);
  } catch (error) {
    const { name, commits, base } = branch;
    const commit = commits.at(-1) ?? base;
    const found = { name, commit, head: pull?.head ?? '' };
    if (!(await hasPushedCommit({ ...repositories, ...target }, found)))
      return { branch, error: sharedBranch(branch, error) };
    sent.set(`push ${name}`, commit);
  }
  return undefined;
}

function sharedBranch({ name, commits }: PullBranch, cause: unknown): HaloError {
  const why = toHaloError(cause).message;
  return new HaloError(
    'FORGE_FAILED',
    `People have pushed to ${name}, and halo does not overwrite that, so merge ${commits.at(-1) ?? 'the commit'} into it: ${why}`,
    { cause },
  );
}

/** The branch of the nearest open pull request below. Undefined: the branch that the run started from. */
function baseOf(slots: readonly Slot[], nth: number): string | undefined {
  return slots.slice(0, nth).findLast(({ isEnded }) => !isEnded)?.branch.name;
}

function contentOf(
  { masker }: SendContext,
  { state, facts }: ShownRun,
  { slots, nth }: { slots: readonly Slot[]; nth: number },
): PlannedPull {
  const links = slots.map(({ pull, branch }) => pull ?? state.pulls?.find((each) => each.branch === branch.name));
  return masker.value(planBranchPull(state, facts, { branches: slots.map(({ branch }) => branch), nth, links }));
}

/** Statuses of commits that are not the newest of a branch any more are not sent again. */
function forgetOlderCommits(sent: Map<string, string>, branches: readonly PullBranch[]): void {
  const heads = new Set(branches.map(({ commits }) => commits.at(-1)));
  for (const key of sent.keys()) {
    const [, commit] = /^([0-9a-f]{40,64}) /.exec(key) ?? [];
    if (commit !== undefined && !heads.has(commit)) sent.delete(key);
  }
}

async function once(sent: Map<string, string>, key: string, value: object, send: () => Promise<void>): Promise<void> {
  const text = createHash('sha256').update(JSON.stringify(value)).digest('base64');
  if (sent.get(key) === text) return;
  await send();
  sent.set(key, text);
}
