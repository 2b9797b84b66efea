import { createHash } from 'node:crypto';
import { planBranchPull, planBranches, type PullBranch } from '../../core/pulls/plan-stack.ts';
import type { PlannedPull, PullFacts } from '../../core/pulls/plan-pull.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import type { RunState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Pull, PullRequests } from '../../forge/pull-requests.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import { pushRefs } from '../../git/repository/push-refs.ts';
import { hostGitDirOf } from '../repository/host-repository.ts';
import type { WorkerContext } from '../worker-context.ts';
import type { PullTarget } from './open-pull-target.ts';

export type SendContext = Pick<WorkerContext, 'store' | 'log' | 'home' | 'masker'>;

/** What a run shows on its forge. */
export interface ShownRun {
  state: RunState;
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
 * Sends what the forge lacks: branches and records, pull requests, their texts, and statuses. From the bottom of the stack
 * to its top, so that the base of each pull request exists. `sent`: what it has sent before, which is not sent again.
 * Throws FORGE_FAILED.
 */
export async function sendPulls(
  context: SendContext,
  run: ShownRun,
  { pulls, target, base }: PullTarget,
  sent: Map<string, string>,
): Promise<void> {
  const { state, mode } = run;
  const branches = planBranches(run.events, state, mode);
  const slots: Slot[] = [];
  for (const branch of branches) slots.push(await readSlot(context, state, { branch, pulls }));
  await push(context, state, { slots, target });
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
    const commit = branch.commits.at(-1) ?? state.tip;
    for (const status of statuses)
      await once(sent, `${commit} ${status.context}`, status, () => pulls.setStatus(commit, status));
  }
}

async function readSlot(
  context: SendContext,
  state: RunState,
  { branch, pulls }: { branch: PullBranch; pulls: PullRequests },
): Promise<Slot> {
  const known = state.pulls?.find((each) => each.branch === (branch.story && branch.name));
  const pull = known?.ended === undefined || branch.story === undefined ? await pulls.findPull(branch.name) : undefined;
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
    await store.append(runId, [{ type: 'pull.closed', number, merged: state === 'merged' }]);
}

/** Pushes new branches, and those whose head is an older commit of their own. Never what is merged, perhaps deleted. */
async function push(
  { home, log }: SendContext,
  { runId, repo }: RunState,
  { slots, target }: { slots: readonly Slot[]; target: PullTarget['target'] },
): Promise<void> {
  const isTop = (slot: Slot) => slot === slots.at(-1);
  const outdated = slots.filter((slot) => {
    const { pull, isEnded, branch } = slot;
    const commit = branch.commits.at(-1);
    if (isEnded || pull?.head === commit) return false;
    // What people have pushed to a branch below stays.
    return pull?.head === undefined || isTop(slot) || branch.commits.includes(pull.head);
  });
  const branches = outdated.map(({ branch }) => ({ name: branch.name, commit: branch.commits.at(-1) ?? branch.base }));
  const mirrorDir = mirrorPath(home, repo.mirror);
  const unsent = await pushRefs({ mirrorDir, hostGitDir: await hostGitDirOf(home, repo), ...target, branches });
  if (unsent !== undefined) log.warn({ runId, why: unsent }, 'records of commits were not pushed');
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

async function once(sent: Map<string, string>, key: string, value: object, send: () => Promise<void>): Promise<void> {
  const text = createHash('sha256').update(JSON.stringify(value)).digest('base64');
  if (sent.get(key) === text) return;
  await send();
  sent.set(key, text);
}
