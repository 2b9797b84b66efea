import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FleetLimits } from '../../config/config.ts';
import { readConfigFile } from '../../config/load/config-file.ts';
import { resolveConfig } from '../../config/resolve.ts';

/**
 * The limits of a HALO_HOME as its config.toml has them now: all processes that share the folder go by the same ones,
 * whenever they started. Throws CONFIG_INVALID until a file that is wrong is mended.
 */
export function openLimits(home: string): () => Promise<FleetLimits> {
  const path = join(home, 'config.toml');
  let known: { version: string; limits: Promise<FleetLimits> } | undefined;
  return async () => {
    const found = await stat(path).catch(() => undefined);
    const version = found === undefined ? '' : `${found.mtimeMs} ${found.size} ${found.ino}`;
    if (known?.version !== version) known = { version, limits: readLimits(path) };
    return known.limits;
  };
}

async function readLimits(path: string): Promise<FleetLimits> {
  return resolveConfig({ home: await readConfigFile(path), cwd: '/' }).fleet;
}
