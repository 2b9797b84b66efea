import { assertCommandPassed } from '../assert-command-passed.ts';
import { resultOf } from '../../workspace/run-step.ts';
import { runCommands, setupCommands, type EndedCommand } from '../../workspace/run-commands.ts';
import type { Workspace } from '../../workspace/workspace.ts';
import type { Attempt, SandboxContext } from '../open-attempt.ts';
import { openExporter, type Exporter } from './export-tree.ts';

/**
 * Runs the setup commands before the agent, in a workspace with a checkout of `commit`. Ends the attempt if one does not
 * exit 0. Returns what will read the change of the agent, which is what differs from the workspace after setup.
 */
export async function setUp(attempt: Attempt, work: Workspace, commit: string): Promise<Exporter> {
  const commands = attempt.config.setup.length === 0 ? undefined : runSetup(attempt, work);
  const exporter = openExporter(attempt, work, { commit, commands });
  await commands;
  return exporter;
}

async function runSetup(attempt: Attempt, work: Workspace): Promise<void> {
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
  const judging = phase === 'gates' ? { touched: true } : ({ touched: false, cause: 'setup-failed' } as const);
  assertCommandPassed(config, ended, judging);
}
