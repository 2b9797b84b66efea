import { realpath } from 'node:fs/promises';
import { relative } from 'node:path';
import { completeConfig } from '../../config/apply-defaults.ts';
import type { Config } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { RunRepo } from '../../core/journal/events.ts';
import type { RunState } from '../../core/run-state.ts';
import { shellWord } from '../../core/shell-word.ts';
import { PRDS_FOLDER } from '../../core/prd/prd-names.ts';
import { reach } from '../../lib/failpoint.ts';
import { fastForward, pushFastForward } from '../../git/land/fast-forward.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import { inspectRepo } from '../../git/repository/inspect-repo.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { refuseUnapproved } from '../approval.ts';
import { countWorkersFor } from '../lane.ts';
import { setMarksAside } from '../repository/stash-prd-marks.ts';
import { requireSettings } from './read-run.ts';
import type { Store } from '../../store/store.ts';

export interface LandedRun {
  branch: string;
  from: string;
  to: string;
  /** The address of the repository, where it is behind one. */
  pushedTo?: string;
}

/**
 * Fast-forwards the branch that a run started from to what the run landed, in the user's repository; to a URL, it pushes the branch of the
 * run or, where the configuration says so, the one that it started from.
 * Throws LAND_REFUSED with the reason; then nothing has moved.
 */
export async function landRun(store: Store, home: string, runId: string): Promise<LandedRun> {
  const state = await store.readState(runId);
  const { repo, tip, status } = state;
  if (status !== 'ended') {
    throw new HaloError('LAND_REFUSED', `run ${runId} is still going on`, {
      hint:
        (await countWorkersFor(home, state)) === 0
          ? 'no worker is running: start one with `halo worker`'
          : `wait for its end (halo logs ${runId} -f), or merge the branch halo/${runId} as it is`,
    });
  }
  if (tip === repo.base) {
    throw new HaloError('LAND_REFUSED', `run ${runId} has landed no story: there is nothing to take over`, {
      hint: `\`halo logs ${runId}\` shows why`,
    });
  }
  if (state.scratch) {
    throw new HaloError('LAND_REFUSED', `run ${runId} was an import: its repository was halo's own and is gone`, {
      hint: '`halo import` writes the PRD by itself, once you say yes.',
    });
  }
  const { config } = await store.readRecord(runId);
  requireSettings(runId, config);
  refuseUnapproved(state, completeConfig(config));
  await reach('ff.before');
  const landed = isUrl(repo.source)
    ? await pushRun(home, state, completeConfig(config).land)
    : await fastForwardCheckout(repo, state);
  await reach('ff.after');
  const { branch, from, to } = landed;
  await store.append(runId, [{ type: 'run.landed', branch, from, to }]);
  return landed;
}

/** By default as a branch of its own: what the default branch of others becomes is for them to say. */
async function pushRun(home: string, { runId, repo, tip }: RunState, { push }: Config['land']): Promise<LandedRun> {
  const own = `halo/${runId}`;
  const branch = push === 'base' ? repo.branch : own;
  if (branch === undefined)
    throw new HaloError('LAND_REFUSED', `${repo.source} had no branch when the run began.`, {
      hint: `\`[land] push = "branch"\` pushes ${own} instead.`,
    });
  const mirrorDir = mirrorPath(home, repo.mirror);
  const otherwise = `Its commits are in a branch on the machine that keeps the run: git fetch ${shellWord(mirrorDir)} ${own}. Anywhere, \`halo diff ${runId} --raw | git apply --index\` applies them.`;
  await pushFastForward({ mirrorDir, url: repo.source, branch, commit: tip, otherwise });
  return { branch, from: repo.base, to: tip, pushedTo: repo.source };
}

interface RunToLand {
  runId: string;
  tip: string;
  prdPath: string;
  prdIsHere: boolean;
}

/** PRDs may have changed: halo itself marks in them what has landed. */
async function fastForwardCheckout(repo: RunRepo, { runId, tip, prdPath, prdIsHere }: RunToLand): Promise<LandedRun> {
  const facts = await inspectRepo(repo.source);
  const { root, gitDir } = facts;
  const path = relative(root, await realpath(prdPath).catch(() => prdPath));
  const except = [PRDS_FOLDER, relative(root, prdPath), path].filter((each) => !each.startsWith('..'));
  const land = () => fastForward({ root, gitDir, branch: repo.branch, to: tip, name: `halo/${runId}`, except });
  // Another branch is checked out: the file stays as it is.
  if (!prdIsHere || facts.branch !== repo.branch || path.startsWith('..')) return land();
  return setMarksAside({ facts, tip, path }, land);
}
