import { isAbsolute } from 'node:path';
import { amendConfig, amendedKeys, provingKeys } from '../../config/amend.ts';
import { completeConfig } from '../../config/apply-defaults.ts';
import type { Host } from '../../config/config.ts';
import { refuseRemoteOptions } from '../../config/remote.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import type { Store } from '../../store/store.ts';
import type { NewSettings } from '../operations.ts';
import { readConfig } from '../repository/repo-config.ts';

export interface Reconfiguring {
  host: Host;
  store: Store;
  runId: string;
  by: string;
}

/**
 * What the journal says of new settings of a run, read by the rules of a submit; nothing where none are given. Throws
 * CONFIG_INVALID, and USAGE when a setting needs a yes.
 */
export async function reconfigure(
  { host, store, runId, by }: Reconfiguring,
  { set = [], yes = false, remote }: NewSettings,
): Promise<JournalEntry[]> {
  if (set.length === 0) return [];
  if (remote) refuseRemoteOptions(set);
  const keys = amendedKeys(set);
  const proving = provingKeys(keys);
  if (proving.length > 0 && !yes)
    throw new HaloError('USAGE', `${proving.join(' and ')} decide what proves the stories of run ${runId}.`, {
      hint: 'Say yes to the change with --yes.',
    });
  const [{ repo }, record] = await Promise.all([store.readState(runId), store.readRecord(runId)]);
  const resolved = await readConfig({
    host,
    folder: isAbsolute(repo.source) ? repo.source : host.home,
    profile: undefined,
    set,
    ...(remote && { remote }),
  });
  const change = amendConfig(completeConfig(record.config), keys, resolved);
  const attempts = change.retry?.attempts;
  return [{ type: 'run.reconfigured', by, set, change: { ...change }, ...(attempts !== undefined && { attempts }) }];
}
