import { isAbsolute } from 'node:path';
import { amendConfig, parseAmendedKeys, findKeysNeedingApproval } from '../../config/amend.ts';
import { applyDefaults } from '../../config/apply-defaults.ts';
import type { Host } from '../../config/config.ts';
import { assertRemoteOptions } from '../../config/trust/trust.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { NewSettings } from '../operations/requests.ts';
import { readConfig } from '../repository/repo-config.ts';
import { defined } from '../../lib/guards.ts';

export interface Reconfiguring {
  host: Host;
  store: JournalStore;
  runId: string;
  by: string;
}

/**
 * The journal entries for changed settings of a run, which follow the rules of a submit; none if there are no settings.
 * Throws CONFIG_INVALID, and USAGE if a setting needs a confirmation.
 */
export async function reconfigure(
  { host, store, runId, by }: Reconfiguring,
  { set = [], yes = false, remote }: NewSettings,
): Promise<JournalEntry[]> {
  if (set.length === 0) return [];
  if (remote) assertRemoteOptions(set);
  const keys = parseAmendedKeys(set);
  const proving = findKeysNeedingApproval(keys);
  if (proving.length > 0 && !yes)
    throw new HaloError('USAGE', `${proving.join(' and ')} decide what proves the stories of run ${runId}.`, {
      hint: 'Confirm the change with --yes.',
    });
  const [{ repo }, record] = await Promise.all([store.readState(runId), store.readRecord(runId)]);
  const resolved = await readConfig({
    host,
    folder: isAbsolute(repo.source) ? repo.source : host.home,
    profile: undefined,
    set,
    ...(remote && { remote }),
  });
  const change = amendConfig(applyDefaults(record.config), keys, resolved);
  const attempts = change.retry?.attempts;
  return [{ type: 'run.reconfigured', by, set, change: { ...change }, ...defined({ attempts }) }];
}
