import { HaloError } from '../core/failure/errors.ts';
import { decidesSpending } from './budget.ts';
import { readOptions } from './load/file-layers.ts';
import { allowsInside } from './network.ts';
import { isOwnChoice } from './own-choices.ts';
import { GUARDED } from './resolve-model.ts';
import type { Setting } from './settings.ts';

/**
 * Refuses `-c` options from elsewhere that would choose where a key of this machine comes from or goes to, run a command
 * here to get one, sign with one, say what is secret here, open a way into the network around it, bring a file of it into
 * a sandbox, choose how sandboxes are sealed, read its files, fill its disk, decide when halo stops trying, or raise what may
 * be spent. Throws CONFIG_INVALID; what else is wrong with an option is told when it is used.
 */
export function refuseRemoteOptions(options: string[]): void {
  const settings = readOptions(options, '/', []);
  const guarded = settings.filter((setting) => isGuarded(setting)).map(({ key }) => key);
  if (guarded.length === 0) return;
  throw new HaloError('CONFIG_INVALID', `${[...new Set(guarded)].join(', ')} cannot be set from another machine.`, {
    hint: 'Set it in config.toml of HALO_HOME, or as a variable, where the server and its workers run.',
  });
}

function isGuarded(setting: Setting): boolean {
  const { key } = setting;
  const named = isOwnChoice(key) || [...GUARDED, ...OWN_MACHINE].includes(key) || key.startsWith('secrets.');
  return named || decidesSpending(key) || allowsInside(setting);
}

/** Settings that name files of this machine or say how it is protected, besides those that no repository may make. */
const OWN_MACHINE = ['model.cassettes', 'limits.free_disk'];
