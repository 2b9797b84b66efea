import type { Command } from 'commander';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli } from '../cli.ts';

/** Commands that always use this machine, even if HALO_URL is set. */
const HERE = new Set([
  'agent',
  'check',
  'new',
  'plan',
  'snapshot build',
  'verify',
  'import',
  'init',
  'doctor',
  'image',
  'config',
  'loop',
  'task',
  'worker',
  'serve',
  'up',
]);
/** Their commands of the same group use the server. */
const SERVED = new Set(['worker ls', 'worker drain', 'worker resume']);
/** Commands whose output has paths of the machine that executes the run. */
const EXECUTED = new Set(['run', 'submit']);
/** Their files are on this machine, but the runs that they name are not. */
const BOTH = new Set(['list', 'status']);

/** If HALO_URL is set, names on stderr the machine that a command uses. */
export async function noteMachine(action: Command, cli: Cli): Promise<void> {
  const apiUrl = (await cli.services.readHost()).apiUrl;
  if (apiUrl === undefined) return;
  if (action.name() === 'completion') return;
  const parent = action.parent?.parent === null ? undefined : action.parent?.name();
  const text = machineText({ group: parent ?? action.name(), name: action.name() }, describeAddress(apiUrl));
  // A script that has set HALO_URL itself does not need this note.
  if (text.always || cli.terminal.shown) await cli.note(cli.paintErr('quiet', safeLine(text.says, 200)));
}

function machineText({ group, name }: { group: string; name: string }, server: string) {
  const words = group === name ? name : `${group} ${name}`;
  if (HERE.has(words) || (HERE.has(group) && !SERVED.has(words)) || (group === 'prd' && !BOTH.has(name))) {
    return { says: `on this machine: \`halo ${words}\` does not use the server ${server} (HALO_URL)`, always: true };
  }
  if (group === 'prd') return { says: `PRDs of this machine, runs of the server ${server} (HALO_URL)`, always: true };
  if (EXECUTED.has(name)) return { says: `on the server ${server} (HALO_URL), as are the paths`, always: true };
  return { says: `on the server ${server} (HALO_URL)`, always: false };
}

/** URLs may contain a password. */
function describeAddress(text: string): string {
  const { protocol, host, pathname } = new URL(text);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}
