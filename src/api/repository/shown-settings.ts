import type { ShownSetting } from '../operations/schemas.ts';
import type { Host } from '../../config/config.ts';
import { DEFAULT_ORIGIN, type Setting } from '../../config/settings.ts';
import { findCredentials } from '../../core/text/address-credentials.ts';
import { readConfig } from './repo-config.ts';

/** Addresses of endpoints, variables of sandboxes, commands that print secrets, and files and patterns of secrets. */
const HIDDEN = /^(?:notify|env|secrets)\.|_command$|(?:^|[._])headers(?:$|[._])/;

/** The settings of this machine, without a repository, in the order of the reference. Throws CONFIG_INVALID. */
export async function readShownSettings(host: Host): Promise<ShownSetting[]> {
  const { settings } = await readConfig({ host, folder: host.home, profile: undefined, set: [] });
  return settings.map(toShownSetting);
}

function toShownSetting({ key, value = null, origin }: Setting): ShownSetting {
  const isHidden = HIDDEN.test(key) || findCredentials(JSON.stringify(value)).length > 0;
  if (!isHidden || value === null || origin === DEFAULT_ORIGIN) return { key, value, origin };
  return { key, value: null, origin, hidden: true };
}
