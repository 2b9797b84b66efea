import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeySource } from '../../config/config.ts';
import { readSecret, type Env } from '../../config/environment/host.ts';
import { readConfigFile } from '../../config/load/config-file.ts';
import { resolveConfig } from '../../config/resolve.ts';
import type { Finding } from './doctor-finding.ts';

/** Checks that each key of the model of config.toml is there. Commands may ask the user: they are not run. */
export async function checkKeys(home: string, env: Env): Promise<Finding[]> {
  const { config } = resolveConfig({ home: await readConfigFile(join(home, 'config.toml')), env, cwd: home });
  const sources = [config.model, ...config.model.keys];
  return Promise.all(
    sources.map(async (source, position) => {
      const name = sources.length === 1 ? 'model key' : `model key ${position + 1}`;
      return { name, ...(await checkSource(source, env)) };
    }),
  );
}

const FIX = 'where the worker starts; it is not needed to replay cassettes, or for the agent command';

async function checkSource({ keyEnv, keyFile, keyCommand }: KeySource, env: Env): Promise<Omit<Finding, 'name'>> {
  if (keyCommand !== undefined) return { ok: 'ok', says: 'a command prints it; it was not run' };
  if (keyFile !== undefined) {
    const isReadable = await access(keyFile, constants.R_OK).then(
      () => true,
      () => false,
    );
    if (isReadable) return { ok: 'ok', says: `${keyFile} is readable` };
    return { ok: 'warn', says: `${keyFile} cannot be read`, fix: `make it readable ${FIX}` };
  }
  const variable = keyEnv ?? '';
  if (readSecret(env, variable) !== undefined) return { ok: 'ok', says: `${variable} is set` };
  return { ok: 'warn', says: `${variable} is not set`, fix: `set it ${FIX}` };
}
