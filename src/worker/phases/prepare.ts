import { updateMirror } from '../../git/mirror/mirror.ts';
import type { Attempt } from '../attempt-context.ts';
import { VIEW } from '../workspace/sandbox-paths.ts';
import type { Workspace } from '../workspace.ts';

/** Checks the commit that the story builds on out into the work volume. */
export async function prepareWorkspace(attempt: Attempt, work: Workspace): Promise<void> {
  await attempt.phase('prepare', async () => {
    const { base, state, worker, mirrorDir } = attempt;
    await updateMirror({ home: worker.home, name: state.repo.mirror, from: attempt.hostGitDir, commit: base });
    await work.checkOut(base, mirrorDir, [VIEW]);
  });
}
