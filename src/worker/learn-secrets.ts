import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Env } from '../config/environment/host.ts';
import { readConfigFile } from '../config/load/config-file.ts';
import { resolveConfig } from '../config/resolve.ts';
import { secretsOf } from '../config/environment/secret-variables.ts';
import { HaloError } from '../core/failure/errors.ts';
import { readRegularText } from '../lib/read-file.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import { readToken } from './process-masker.ts';

/** Of a file with secrets. */
const MOST_BYTES = 1024 * 1024;

/**
 * Teaches a masker what the configuration of a run names: variables, files, patterns and the key that signs. Keys of
 * models are learned where they are read. Throws CONFIG_INVALID for a file that cannot be read: what is not known
 * cannot be hidden.
 */
export async function learnSecrets(
  masker: Masker,
  { config, home, env }: { config: Pick<Config, 'secrets' | 'git' | 'env' | 'model'>; home: string; env: Env },
): Promise<void> {
  const { git, model, secrets } = config;
  const named = [...secrets.env, ...(model.keyEnv === undefined ? [] : [model.keyEnv])];
  masker.learn([readToken(home), ...named.map((name) => env[name] ?? ''), ...secretsOf(config.env)]);
  masker.learn(await Promise.all(secrets.files.map(readSecretFile)));
  if (git.signingKey !== undefined) masker.learn([await readRegularText(git.signingKey, MOST_BYTES).catch(() => '')]);
  masker.learnPatterns(secrets.patterns);
}

/** Teaches it what the settings of this machine name, for a process that works on no run or on many. */
export async function learnOwnSecrets(masker: Masker, { home, env }: { home: string; env: Env }): Promise<void> {
  const { config } = resolveConfig({ home: await readConfigFile(join(home, 'config.toml')), env, cwd: home });
  await learnSecrets(masker, { config, home, env });
}

async function readSecretFile(path: string): Promise<string> {
  try {
    return await readRegularText(path, MOST_BYTES);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code ?? message;
    throw new HaloError('CONFIG_INVALID', `The file ${path}, which [secrets] files names, cannot be read (${why}).`, {
      hint: 'Take it out of the list, or make it readable for the worker.',
      cause: error,
    });
  }
}
