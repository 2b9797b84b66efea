import { HaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run/state.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { parsePrd } from '../../prd/parse-prd.ts';
import { readPrdSource } from '../../prd/prd-source.ts';
import { assertHasSettings } from '../../worker/run/read-run.ts';
import { assertAllowed, canReopen } from '../../core/run/actions.ts';
import type { PrdFile } from '../../core/prd/prd.ts';
import { inspectFolder } from '../submit/resolve-submission.ts';

interface ResumeCheck {
  state: RunState;
  /** run.json. */
  record: Record<string, unknown>;
  /** Absent: the run continues with its own PRD. */
  prd: PrdFile | undefined;
  /** Path of the repository; undefined if it is not on this machine. */
  repo: string | undefined;
  allowDirty: boolean;
}

/**
 * Asserts that a run may continue here with this PRD: in its own repository, clean, and with its original
 * specification. Throws CONTROL_REFUSED, RUN_UNREADABLE, NOT_A_GIT_REPO, DIRTY_WORKTREE, PRD_INVALID, PRD_CHANGED.
 */
export async function assertResumable({ state, record, prd, repo, allowDirty }: ResumeCheck): Promise<void> {
  const { runId } = state;
  assertAllowed(canReopen(state));
  assertHasSettings(runId, record.config);
  if (repo !== undefined && !isUrl(state.repo.source)) {
    const { prdPath: path } = state;
    const own = prd ?? (await readPrdSource(path).catch(() => ({ path, bytes: new Uint8Array() })));
    const { source } = (await inspectFolder(repo, allowDirty ? undefined : own)).repo;
    if (source !== state.repo.source) {
      throw new HaloError('CONTROL_REFUSED', `Run ${runId} is of ${state.repo.source}, not of ${source}.`, {
        hint: 'Continue it there, or set --repo to that repository.',
      });
    }
  }
  const { specHash } = record.prd as { specHash?: string };
  if (prd === undefined || parsePrd(prd.bytes, prd.path).specHash === specHash) return;
  throw new HaloError('PRD_CHANGED', `The PRD ${prd.path} differs from the PRD of run ${runId}.`, {
    hint: `Restore the file, or accept the changes with \`halo resume ${runId} --replan\`, which keeps passed stories.`,
  });
}
