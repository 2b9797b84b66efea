import { updateMirror } from '../../../git/mirror/mirror.ts';
import type { Attempt } from '../open-attempt.ts';
import { VIEW } from '../../workspace/sandbox-paths.ts';
import type { Workspace } from '../../workspace/workspace.ts';

/** Updates the mirror and checks out the story's base commit into the work volume. */
export async function prepareWorkspace(attempt: Attempt, work: Workspace): Promise<void> {
  const { worker, inputs, resources } = attempt;
  const { base, state, hostGitDir } = inputs;
  await attempt.journal.phase('prepare', async () => {
    await updateMirror({ home: worker.home, name: state.repo.mirror, from: hostGitDir, commit: base });
    await work.checkOut(base, resources.mirrorDir, [VIEW]);
  });
}
