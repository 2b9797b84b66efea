import { isAbsolute } from 'node:path';
import { amendConfig, parseAmendedKeys, findKeysNeedingApproval } from '../../config/amend.ts';
import { applyDefaults } from '../../config/apply-defaults.ts';
import type { Host } from '../../config/config.ts';
import { MAX_CONFIG_BYTES, parseConfigFile, type ConfigFile } from '../../config/load/config-file.ts';
import { assertRemoteOptions } from '../../config/trust/trust.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import type { RunRepo } from '../../core/journal/run-created.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import { readFileAt } from '../../git/repository/inspect-repo.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { NewSettings } from '../operations/schemas.ts';
import { readConfig } from '../repository/repo-config.ts';
import { defined } from '../../lib/guards.ts';

export interface Reconfiguring {
  host: Host;
  store: JournalStore;
  runId: string;
  by: string;
}

/** `halo.toml` of the commit that a run of a URL started from. */
async function readFileOfBase(home: string, { source, mirror, base }: RunRepo): Promise<ConfigFile | undefined> {
  const place = { gitDir: mirrorPath(home, mirror), commit: base, path: 'halo.toml', maxBytes: MAX_CONFIG_BYTES };
  const text = await readFileAt(place);
  return text === undefined ? undefined : parseConfigFile(`${source}:halo.toml`, text);
}

/**
 * The journal entries for changed settings of a run, which follow the rules of a submit; none if there are no settings.
 * Throws CONFIG_INVALID, and USAGE if a setting needs a confirmation.
 */
export async function reconfigure(
  { host, store, runId, by }: Reconfiguring,
  { set = [], yes = false, request }: NewSettings,
): Promise<JournalEntry[]> {
  if (set.length === 0) return [];
  if (request !== undefined) assertRemoteOptions(set);
  const keys = parseAmendedKeys(set);
  const proving = findKeysNeedingApproval(keys);
  if (proving.length > 0 && !yes)
    throw new HaloError('USAGE', `${proving.join(' and ')} decide what proves the stories of run ${runId}.`, {
      hint: 'Confirm the change with --yes.',
    });
  const [{ repo }, record] = await Promise.all([store.readState(runId), store.readRecord(runId)]);
  const isHere = isAbsolute(repo.source);
  const resolved = await readConfig({
    host,
    folder: isHere ? repo.source : host.home,
    profile: undefined,
    set,
    request,
    file: isHere ? undefined : await readFileOfBase(host.home, repo),
  });
  const change = amendConfig(applyDefaults(record.config), keys, resolved);
  const attempts = change.retry?.attempts;
  return [{ type: 'run.reconfigured', by, set, change: { ...change }, ...defined({ attempts }) }];
}
