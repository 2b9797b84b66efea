import type { ModelSource } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { runKeyCommand } from '../../gateway/model/key-command.ts';
import { memoizeAsync } from '../../lib/async.ts';
import { readRegularText } from '../../lib/fs.ts';

const MAX_BYTES = 64 * 1024;
/** What an HTTP header can hold: visible ASCII without spaces. */
const KEY = /^[\x21-\x7e]{1,8192}$/;

/**
 * Reads the keys of model providers as configured. A key command runs once per worker; a file is read each time, since it
 * may be replaced. Errors never contain a key. Throws MODEL_KEY_MISSING.
 */
export function openProviderKeys(
  readVariable: (name: string) => string | undefined,
): (source: ModelSource) => Promise<string> {
  // A failure is not cached: the next call may work, for example after a password store was unlocked.
  const fromCommand = memoizeAsync(runKeyCommand);
  return async ({ keyEnv, keyFile, keyCommand }) => {
    if (keyCommand !== undefined) return parseKey(await fromCommand(keyCommand), 'the output of [model] key_command');
    if (keyFile !== undefined) return parseKey(await readKeyFile(keyFile), `The file ${keyFile}`);
    const value = keyEnv === undefined ? undefined : readVariable(keyEnv);
    if (value !== undefined) return parseKey(value, `The variable ${keyEnv}`);
    throw new HaloError(
      'MODEL_KEY_MISSING',
      `The worker’s environment does not have ${keyEnv ?? 'a key of the model'}.`,
      {
        hint: `Export ${keyEnv ?? 'it'} where the worker starts, or set [model] key_env, key_file or key_command.`,
      },
    );
  };
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readRegularText(path, MAX_BYTES);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code ?? message;
    throw new HaloError('MODEL_KEY_MISSING', `The file with the key of the model, ${path}, cannot be read (${why}).`, {
      hint: 'Fix [model] key_file, or make the file readable for the worker.',
      cause: error,
    });
  }
}

function parseKey(text: string, where: string): string {
  const key = text.trim();
  if (KEY.test(key)) return key;
  throw new HaloError('MODEL_KEY_MISSING', `${where} is not one line with a key.`, {
    hint: 'Put only the key of the model there, in one line.',
  });
}
