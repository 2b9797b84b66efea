import type { KeptTests } from '../../../core/review/tests-first.ts';
import { updateMirror } from '../../../git/mirror/mirror.ts';
import type { Attempt, SandboxContext } from '../open-attempt.ts';
import { CANDIDATE, VIEW } from '../../workspace/sandbox-paths.ts';
import type { Workspace } from '../../workspace/workspace.ts';
import { runRef } from '../../repository/host-repository.ts';
import { assertCommandPassed } from '../assert-command-passed.ts';
import { exposeKeptTests } from '../tests-first/kept-tests.ts';
import { resultOf } from '../../workspace/run-step.ts';
import { runCommands, setupCommands, type EndedCommand } from '../../workspace/run-commands.ts';

/** Updates the mirror and checks out the story's base commit into the work volume, with the tests that it has already. */
export async function prepareWorkspace(attempt: Attempt, work: Workspace, kept?: KeptTests): Promise<void> {
  const { inputs, resources } = attempt;
  await attempt.journal.phase('prepare', async () => {
    await updateBase(attempt);
    if (kept === undefined) return work.checkOut(inputs.base, resources.mirrorDir, [VIEW]);
    await exposeKeptTests(attempt, kept);
    await work.checkOut(kept.commit, resources.candidateDir, [VIEW, CANDIDATE]);
  });
}

/** Fetches the base commit into the mirror if it is missing. */
export async function updateBase({ worker, identity, inputs }: Attempt): Promise<void> {
  const { base, state, hostGitDir } = inputs;
  const mirror = { home: worker.home, name: state.repo.mirror };
  // Landing has stored the commits of the run in the mirror.
  await updateMirror({ ...mirror, from: hostGitDir, commit: base, knownRef: runRef(identity.runId) });
}

/** Runs the setup commands before the agent. Ends the attempt if one does not exit 0. */
export async function runSetup(attempt: Attempt, work: Workspace): Promise<void> {
  const { config, worker, identity, journal } = attempt;
  const commands = setupCommands(config);
  if (commands.length === 0) return;
  const logOf = (name: string) => `setup/${name}`;
  await journal.phase('setup', async () => {
    const openLog = ({ name }: { name: string }) => worker.store.openArtifact(identity.location, logOf(name));
    for await (const ended of runCommands(attempt, work, { commands, phase: 'setup', openLog }))
      await recordSetup(attempt, ended, { phase: 'setup', log: logOf(ended.name) });
  });
}

/** Records a setup command, and ends the attempt unless it exited 0. */
export async function recordSetup(
  { config, journal }: SandboxContext,
  ended: EndedCommand,
  { phase, log }: { phase: 'setup' | 'gates'; log: string },
): Promise<void> {
  await journal.report({ type: 'setup.ended', phase, ...resultOf(ended), log });
  assertCommandPassed(config, ended, { touched: phase === 'gates' });
}
