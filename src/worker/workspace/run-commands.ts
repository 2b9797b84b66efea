import type { Writable } from 'node:stream';
import type { Config } from '../../config/config.ts';
import type { NetworkPhase } from '../../core/journal/egress-events.ts';
import type { Restored } from '../../core/review/restored-paths.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import { defined } from '../../lib/guards.ts';
import { runStep, type StepResult } from './run-step.ts';
import type { StepServices } from './step-services.ts';
import type { StartedStep, Workspace } from './workspace.ts';

/** A command of the configuration that is about to run. */
export interface NextCommand {
  kind: 'setup' | 'gate';
  command: string;
  /** The name of its log, such as `setup-1.log`. */
  name: string;
}

export interface EndedCommand extends NextCommand, StepResult, Pick<StartedStep, 'egress' | 'restored'> {
  /** The services whose data had to be prepared for it. */
  prepared?: StepServices['prepared'];
}

/** What to run, and the callbacks for each step. */
export interface CommandPlan {
  commands: readonly NextCommand[];
  /** The phase under which network requests are recorded. */
  phase: NetworkPhase;
  /** Opens the log of a command. */
  openLog: (next: NextCommand) => Writable;
  /** Report files that are removed before each of the first `gates` gates, so that only what the last of them and later ones write is read. */
  staleReports?: { paths: readonly string[]; gates: number };
  /** Called before the sandbox of a command is taken. */
  onNext?: (next: NextCommand) => Promise<void>;
  /** Called if changes of earlier commands were undone before a command. */
  onRestored?: (next: NextCommand, restored: Restored) => Promise<void>;
}

/**
 * Runs commands in a checked-out workspace, each as the main process of its own sandbox, and yields each one when it has
 * ended. Stops after a setup command that does not exit 0; gates all run, unless the caller stops.
 */
export async function* runCommands(
  context: SandboxContext,
  workspace: Workspace,
  { commands, phase, openLog, staleReports, onNext, onRestored }: CommandPlan,
): AsyncGenerator<EndedCommand> {
  const first = commands.filter(({ kind }) => kind === 'gate').slice(0, staleReports?.gates ?? 0);
  for (const next of commands) {
    await onNext?.(next);
    const started = await workspace.takeNext();
    const { egress, restored, services } = started;
    if (restored !== undefined) await onRestored?.(next, restored);
    const stale = first.includes(next) ? (staleReports?.paths ?? []) : [];
    const command = `${removeFiles(stale)}${next.command}`;
    const result = await runStep(context, started, { command, log: openLog(next), phase });
    yield { ...next, ...result, egress, restored, ...defined({ prepared: services?.prepared }) };
    if (next.kind === 'setup' && result.exit.exitCode !== 0) return;
  }
}

/** Paths of `tests.reports` have no quotes. */
function removeFiles(paths: readonly string[]): string {
  return paths.length === 0 ? '' : `rm -f -- ${paths.map((path) => `'${path}'`).join(' ')} 2> /dev/null\n`;
}

/** The setup commands of a configuration. */
export function setupCommands({ setup }: Pick<Config, 'setup'>): NextCommand[] {
  return setup.map((command, index) => ({ kind: 'setup', command, name: `setup-${index + 1}.log` }));
}

/** Its setup commands, then its gates. */
export function setupAndGates(config: Pick<Config, 'setup' | 'gates'>): NextCommand[] {
  const { gates = [] } = config;
  const judges = gates.map((command, index): NextCommand => ({ kind: 'gate', command, name: `${index + 1}.log` }));
  return [...setupCommands(config), ...judges];
}
