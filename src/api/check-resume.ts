import { HaloError } from '../core/failure/errors.ts';
import type { RunState } from '../core/run-state.ts';
import { isUrl } from '../git/repository/repo-url.ts';
import { parsePrd } from '../prd/parse-prd.ts';
import { isSameWork } from '../prd/spec-hash.ts';
import { requireSettings } from '../worker/run/read-run.ts';
import { refuseNeverBegun } from '../worker/refuse-word.ts';
import type { PrdBytes } from './operations.ts';
import { lookAtFolder } from './submit/plan-run.ts';

export interface ResumeCheck {
  state: Pick<RunState, 'runId' | 'repo' | 'prdPath' | 'refused' | 'stopReason' | 'stories'>;
  /** run.json. */
  record: Record<string, unknown>;
  /** Absent: the run goes on with the PRD that it has. */
  prd: PrdBytes | undefined;
  /** Path of the repository; absent where it is not on this machine. */
  repo: string | undefined;
  allowDirty: boolean;
}

/**
 * Makes sure that a run may go on from here with this PRD: in its own repository, clean, and with the specification that
 * it was made with. Throws STEER_REFUSED, RUN_UNREADABLE, NOT_A_GIT_REPO, DIRTY_WORKTREE, PRD_INVALID, PRD_CHANGED.
 */
export async function checkResume({ state, record, prd, repo, allowDirty }: ResumeCheck): Promise<void> {
  const { runId } = state;
  refuseNeverBegun(state);
  requireSettings(runId, record.config);
  if (repo !== undefined && !isUrl(state.repo.source)) {
    const { source } = (await lookAtFolder(repo, allowDirty ? undefined : (prd?.path ?? state.prdPath))).repo;
    if (source !== state.repo.source) {
      throw new HaloError('STEER_REFUSED', `Run ${runId} is of ${state.repo.source}, not of ${source}.`, {
        hint: 'Go on with it there, or name that repository with --repo.',
      });
    }
  }
  const { hash, specHash } = record.prd as { hash?: string; specHash?: string };
  const known = { stories: state.stories, ...(hash && { hash }), ...(specHash && { specHash }) };
  if (prd === undefined || isSameWork(known, parsePrd(prd.bytes, prd.path))) return;
  throw new HaloError('PRD_CHANGED', `The PRD ${prd.path} asks for something else than run ${runId} was made for.`, {
    hint: `Put back what was there; or \`halo resume ${runId} --replan\` takes it as it is now, and what landed stays.`,
  });
}
