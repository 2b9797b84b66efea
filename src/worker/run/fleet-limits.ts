import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FleetLimits } from '../../core/run/fleet-limit.ts';
import { readHostFile } from '../../config/host-rules.ts';

/**
 * Reads the limits of a HALO_HOME from its config.toml and follows changes of the file, so that all processes that share
 * the folder use the same limits. Throws CONFIG_INVALID while the file is invalid.
 */
export function openLimits(home: string): () => Promise<FleetLimits> {
  const path = join(home, 'config.toml');
  let known: { version: string; limits: Promise<FleetLimits> } | undefined;
  return async () => {
    const found = await stat(path).catch(() => undefined);
    const version = found === undefined ? '' : `${found.mtimeMs} ${found.size} ${found.ino}`;
    if (known?.version !== version) known = { version, limits: readLimits(home) };
    return known.limits;
  };
}

async function readLimits(home: string): Promise<FleetLimits> {
  return (await readHostFile(home)).fleet;
}
