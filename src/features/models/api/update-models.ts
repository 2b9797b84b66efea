import type { Host } from '../../../config/config.ts';
import { processEnv } from '../../../config/environment/host.ts';
import { readCaFile } from '../../../config/host-rules.ts';
import { modelsPath, readModels } from '../../../config/load/home-files.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { findModel, knownModels } from '../../../core/model/catalog.ts';
import { PRICES_URL, readPrices } from '../../../core/model/read-prices.ts';
import { ensurePrivateFolder, readRegularText, writeAtomic } from '../../../lib/fs.ts';
import { tryParseJson } from '../../../lib/parse-json.ts';
import { withDiskErrors } from '../../../store/disk-errors.ts';
import { openMachineConnections } from '../../../worker/network/machine-connections.ts';
import { fetchJson } from './fetch-json.ts';

/** What became other prices. */
export interface UpdatedModels {
  source: string;
  date: string;
  count: number;
  /** Names of models. */
  added: string[];
  changed: string[];
  /** Models that the new list lacks; halo no longer knows their prices. */
  gone: string[];
}

const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Reads the published prices, or those of a file in the same format, and keeps them in HALO_HOME: runs that are submitted
 * afterwards use them. `today`: `YYYY-MM-DD`. Throws DISK_FAILED, CONFIG_INVALID.
 */
export async function updateModels(
  { home }: Pick<Host, 'home'>,
  { from = PRICES_URL, today }: { from?: string | undefined; today: string },
): Promise<UpdatedModels> {
  // A damaged file is replaced.
  const before = knownModels(await readModels(home).catch(() => undefined));
  const read = await load(home, from)
    .then((data) => readPrices(data, { source: from, date: today }))
    .catch((error: unknown) => {
      throw new HaloError('CONFIG_INVALID', `The prices in ${from} cannot be used: ${(error as Error).message}.`, {
        hint: 'The prices of before stay. `halo models update --from <file>` reads a file of that format.',
        cause: error,
      });
    });
  await withDiskErrors(home, async () => {
    await ensurePrivateFolder(home);
    await writeAtomic(modelsPath(home), `${JSON.stringify(read)}\n`, true);
  });
  const after = knownModels(read);
  const { source, date, models } = after;
  const known = (name: string) => findModel(before, name);
  return {
    ...{ source, date, count: models.length },
    added: models.filter(({ name }) => known(name) === undefined).map(({ name }) => name),
    changed: models.filter(({ name, price }) => isOther(known(name)?.price, price)).map(({ name }) => name),
    gone: before.models.filter(({ name }) => findModel(after, name) === undefined).map(({ name }) => name),
  };
}

function isOther(before: unknown, price: unknown): boolean {
  return before !== undefined && JSON.stringify(before) !== JSON.stringify(price);
}

async function load(home: string, from: string): Promise<unknown> {
  if (!/^https?:\/\//.test(from)) {
    const value = tryParseJson(await readRegularText(from, MAX_BYTES).catch(toReadError));
    if (value === undefined) throw new Error('the file is not JSON');
    return value;
  }
  const connections = await openMachineConnections(processEnv(), await readCaFile(home));
  try {
    return await fetchJson(connections, from);
  } finally {
    connections.close();
  }
}

function toReadError(error: NodeJS.ErrnoException): never {
  throw error.code === 'ENOENT' ? new Error('there is no such file') : error;
}
