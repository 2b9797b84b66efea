import type { Config } from '../config/config.ts';
import type { Env } from '../config/environment/host.ts';
import { readMachineConfig } from '../config/host-rules.ts';
import { findSecretValues } from '../config/environment/secret-variables.ts';
import { HaloError } from '../core/failure/errors.ts';
import { readRegularText } from '../lib/fs.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import { readApiToken } from './process-masker.ts';

/** The maximum size of a file with secrets. */
const MAX_BYTES = 1024 * 1024;

/**
 * Adds the secrets that a run's configuration names to a masker: variables, files, patterns and the signing key. Provider
 * keys are added when they are read. Throws CONFIG_INVALID for an unreadable file, because its secrets could not be masked.
 */
export async function learnSecrets(
  masker: Masker,
  { config, home, env }: { config: Pick<Config, 'secrets' | 'git' | 'env' | 'model'>; home: string; env: Env },
): Promise<void> {
  const { git, model, secrets } = config;
  const named = [...secrets.env, ...[model, ...model.keys].flatMap(({ keyEnv = [] }) => keyEnv)];
  masker.learn([readApiToken(home), ...named.map((name) => env[name] ?? ''), ...findSecretValues(config.env)]);
  masker.learn(await Promise.all(secrets.files.map(readSecretFile)));
  if (git.signingKey !== undefined) masker.learn([await readRegularText(git.signingKey, MAX_BYTES).catch(() => '')]);
  masker.learnPatterns(secrets.patterns);
}

/** Adds the secrets that this machine's settings name, for a process without a single run. */
export async function learnOwnSecrets(masker: Masker, { home, env }: { home: string; env: Env }): Promise<void> {
  await learnSecrets(masker, { config: await readMachineConfig({ home, env }), home, env });
}

async function readSecretFile(path: string): Promise<string> {
  try {
    return await readRegularText(path, MAX_BYTES);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code ?? message;
    throw new HaloError('CONFIG_INVALID', `The file ${path}, which [secrets] files names, cannot be read (${why}).`, {
      hint: 'Remove it from the list, or make it readable for the worker.',
      cause: error,
    });
  }
}
