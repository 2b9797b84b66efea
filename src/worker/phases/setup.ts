import type { Attempt } from '../attempt-context.ts';
import { refuseFailed } from '../refuse-failed.ts';
import { resultOf, runStep } from '../run-step.ts';
import type { Workspace } from '../workspace.ts';

/** Runs the setup commands before the agent; one that does not exit 0 ends the attempt. */
export async function runSetup(attempt: Attempt, work: Workspace): Promise<void> {
  if (attempt.config.setup.length === 0) return;
  await attempt.phase('setup', () => installDependencies(attempt, work, 'setup'));
}

/** The same commands serve before the agent (`setup`) and again on the clean tree (`gates`). */
export async function installDependencies(
  attempt: Attempt,
  workspace: Workspace,
  phase: 'setup' | 'gates',
): Promise<void> {
  for (const [index, command] of attempt.config.setup.entries()) {
    const log = `${phase === 'setup' ? 'setup' : attempt.gatesFolder}/setup-${index + 1}.log`;
    const started = await workspace.take();
    const output = attempt.worker.store.openArtifact(attempt.place, log);
    const { exit, tail } = await runStep(attempt, started, { command, log: output, phase });
    await attempt.report({ type: 'setup.ended', phase, ...resultOf(command, exit, tail), log });
    refuseFailed(attempt, { kind: 'setup', command, exit, tail, way: started.way }, { touched: phase === 'gates' });
  }
}
