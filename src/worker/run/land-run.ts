import { realpath } from 'node:fs/promises';
import { relative } from 'node:path';
import { applyDefaults } from '../../config/apply-defaults.ts';
import type { Config } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import type { RunRepo } from '../../core/journal/run-created.ts';
import { assertConfirmed, landingStories, unconfirmedStories, type Confirmation } from '../../core/review/flags.ts';
import type { LandedRun } from '../../core/run/control-result.ts';
import { type RunState, currentDecision } from '../../core/run/state.ts';
import { printableShellWord } from '../../core/text/safe-text.ts';
import { PRDS_FOLDERS } from '../../core/prd/prd-names.ts';
import { defined } from '../../lib/guards.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { fastForward, pushFastForward } from '../../git/land/fast-forward.ts';
import { listRunsBetween } from '../../git/repository/unmerged-runs.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import { listChanges } from '../../git/repository/inspect-repo.ts';
import { inspectRunRepo } from '../repository/run-repository.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { findContinuedRuns } from './continued-runs.ts';
import { countWorkersFor } from './run-ownership.ts';
import { findMarkedPrds } from '../repository/marked-prds.ts';
import { withoutPrdMarks } from '../repository/stash-prd-marks.ts';
import { assertHasSettings } from './read-run.ts';
import type { JournalStore } from '../../store/journal-store.ts';

/**
 * Fast-forwards the branch that a run started from to what the run landed, in the user's repository. For a URL, pushes the
 * branch of the run or, with `land.push = "base"`, the branch that it started from. Without `by`, the configuration says
 * that it lands. Throws UNCONFIRMED, and LAND_REFUSED with the reason; then nothing has moved.
 */
export async function landRun(
  store: JournalStore,
  home: string,
  { runId, by, confirmation }: { runId: string; by?: string; confirmation?: Confirmation | undefined },
): Promise<LandedRun> {
  const state = await store.readState(runId);
  const { repo, tip, status } = state;
  if (status !== 'ended') {
    throw new HaloError('LAND_REFUSED', `Run ${runId} has not ended.`, {
      hint:
        (await countWorkersFor(home, state)) === 0
          ? 'Start a worker with `halo worker`: none is running.'
          : `Wait for its end (\`halo logs ${runId} -f\`), or merge the branch halo/${runId} in its current state.`,
    });
  }
  if (state.dry) {
    const [kind, hint] = state.planning
      ? ['made a plan', 'Run `halo plan` again; it writes the plan when you confirm.']
      : ['is a dry run', 'Run the PRD again without --dry-run.'];
    throw new HaloError('LAND_REFUSED', `Run ${runId} ${kind}: it has changed nothing.`, {
      hint,
    });
  }
  if (tip === repo.base) {
    throw new HaloError('LAND_REFUSED', `Run ${runId} has landed no story: there is nothing to land.`, {
      hint: `Run \`halo logs ${runId}\` to see why. To land an earlier run, name it: \`halo ls --repo .\` lists them.`,
    });
  }
  if (state.scratch) {
    throw new HaloError('LAND_REFUSED', `Run ${runId} was an import: its temporary repository has been removed.`, {
      hint: 'Run `halo import` again; it writes the PRD when you confirm.',
    });
  }
  const { config } = await store.readRecord(runId);
  assertHasSettings(runId, config);
  assertApproved(state, applyDefaults(config));
  const continued = state.landed === undefined ? await findContinuedRuns(store, home, state) : [];
  for (const other of continued) assertApproved(other.state, other.config, runId);
  const states = [state, ...continued.map((other) => other.state)];
  const stories = states.flatMap(by === undefined ? unconfirmedStories : landingStories);
  if (state.landed === undefined)
    assertConfirmed(
      { verb: 'land', runId, commit: tip, stories, continued: continued.map((other) => other.state.runId) },
      confirmation,
    );
  await failpoint('ff.before');
  const landed = isUrl(repo.source)
    ? await pushRun(home, state, applyDefaults(config).land)
    : await fastForwardCheckout(repo, state);
  await failpoint('ff.after');
  const { branch, from, to } = landed;
  const entry: LandedEntry = { type: 'run.landed', branch, from, to, ...defined({ by }) };
  await store.append(runId, [entry]);
  if (!isUrl(repo.source)) await recordLandedWith(store, { runId, repo }, entry);
  return landed;
}

type LandedEntry = Extract<JournalEntry, { type: 'run.landed' }>;

/** Records that the runs whose results this one continued have landed with it. */
async function recordLandedWith(
  store: JournalStore,
  { runId, repo }: Pick<RunState, 'runId' | 'repo'>,
  entry: LandedEntry,
): Promise<void> {
  const { gitDir } = await inspectRunRepo(repo);
  for (const other of await listRunsBetween(gitDir, entry.from, entry.to)) {
    if (other === runId) continue;
    // A branch may be of a run of another home, or of one that was removed.
    const state = await store.readState(other).catch(() => undefined);
    const isLanded = state?.status !== 'ended' || state.landed !== undefined || state.repo.source !== repo.source;
    if (!isLanded) await store.append(other, [entry]);
  }
}

/** By default to the run's own branch, because the owners of the repository decide about their default branch. */
async function pushRun(home: string, { runId, repo, tip }: RunState, { push }: Config['land']): Promise<LandedRun> {
  const own = `halo/${runId}`;
  const branch = push === 'base' ? repo.branch : own;
  if (branch === undefined)
    throw new HaloError('LAND_REFUSED', `${repo.source} had no branch checked out when the run started.`, {
      hint: `Set \`[land] push = "branch"\` to push ${own} instead.`,
    });
  const mirrorDir = mirrorPath(home, repo.mirror);
  const otherwise = `Its commits are in a branch on the machine that keeps the run: git fetch ${printableShellWord(mirrorDir)} ${own}. Anywhere, \`halo diff ${runId} --raw | git apply --index\` applies them.`;
  await pushFastForward({ mirrorDir, url: repo.source, branch, commit: tip, alternative: otherwise });
  return { branch, from: repo.base, to: tip, pushedTo: repo.source };
}

interface RunToLand {
  runId: string;
  tip: string;
  prdPath: string;
  prdIsHere: boolean;
}

/** Changed PRDs do not prevent it, because halo marks landed stories in them and moves finished ones. */
async function fastForwardCheckout(repo: RunRepo, { runId, tip, prdPath, prdIsHere }: RunToLand): Promise<LandedRun> {
  const facts = await inspectRunRepo(repo);
  const { root, gitDir } = facts;
  const path = relative(root, await realpath(prdPath).catch(() => prdPath));
  const own = [...PRDS_FOLDERS, relative(root, prdPath), path].filter((each) => !each.startsWith('..'));
  const { tracked } = await listChanges(root, own);
  const except = [...own, ...(await findMarkedPrds(facts, tracked))];
  const land = () => fastForward({ root, gitDir, branch: repo.branch, to: tip, name: `halo/${runId}`, except });
  // If another branch is checked out, the PRD file stays as it is.
  if (!prdIsHere || facts.branch !== repo.branch || path.startsWith('..')) return land();
  return withoutPrdMarks({ facts, tip, path }, land);
}

/**
 * Throws LAND_REFUSED if the run was rejected, or if its configuration requires an approval that is missing. `continuedBy`:
 * the run that lands, which started from its result.
 */
export function assertApproved(state: RunState, { approval }: Pick<Config, 'approval'>, continuedBy?: string): void {
  const { runId } = state;
  const decision = currentDecision(state);
  const which = continuedBy === undefined ? '' : `, which run ${continuedBy} continues`;
  if (decision?.verdict === 'rejected') {
    throw new HaloError(
      'LAND_REFUSED',
      `${decision.by} rejected the result of run ${runId}${which}: ${decision.reason ?? ''}`,
      {
        hint: `Run \`halo approve ${runId}\` to approve it after all.`,
      },
    );
  }
  if (approval.mode !== 'run' || decision !== undefined) return;
  throw new HaloError('LAND_REFUSED', `Run ${runId}${which === '' ? '' : `${which},`} is waiting for approval.`, {
    hint: `Review it with \`halo diff ${runId}\`, then run \`halo approve ${runId}\`.`,
  });
}
