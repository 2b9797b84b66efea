import type { ModelSource } from '../config/config.ts';
import { HaloError } from '../core/failure/errors.ts';
import { runKeyCommand } from '../gateway/model/key-command.ts';
import { askOnce } from '../lib/ask-once.ts';
import { readRegularText } from '../lib/read-file.ts';

const MOST_BYTES = 64 * 1024;
/** What a header can carry: visible ASCII without spaces. */
const KEY = /^[\x21-\x7e]{1,8192}$/;

/**
 * Finds keys where the configuration says, for the life of a worker. A command runs once, a file is read each time:
 * it may be replaced. No key is ever part of an error. Throws MODEL_KEY_MISSING.
 */
export function openModelKeys(
  readVariable: (name: string) => string | undefined,
): (source: ModelSource) => Promise<string> {
  // It may work on the next try, e.g. when a password store was unlocked.
  const fromCommand = askOnce(runKeyCommand);
  return async ({ keyEnv, keyFile, keyCommand }) => {
    if (keyCommand !== undefined) return check(await fromCommand(keyCommand), 'the output of [model] key_command');
    if (keyFile !== undefined) return check(await readKeyFile(keyFile), `the file ${keyFile}`);
    const value = keyEnv === undefined ? undefined : readVariable(keyEnv);
    if (value !== undefined) return check(value, `the variable ${keyEnv}`);
    throw new HaloError('MODEL_KEY_MISSING', `the worker’s environment holds no ${keyEnv ?? 'key of the model'}`, {
      hint: `export ${keyEnv ?? 'it'} where the worker starts, or set [model] key_env, key_file or key_command`,
    });
  };
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readRegularText(path, MOST_BYTES);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code ?? message;
    throw new HaloError('MODEL_KEY_MISSING', `the file with the key of the model, ${path}, cannot be read (${why})`, {
      hint: 'mend [model] key_file; the worker must be able to read it',
      cause: error,
    });
  }
}

function check(text: string, where: string): string {
  const key = text.trim();
  if (KEY.test(key)) return key;
  throw new HaloError('MODEL_KEY_MISSING', `${where} is not one line with a key`, {
    hint: 'it must hold the key of the model and nothing else',
  });
}
