import type { KeySource, ModelSource } from '../../config/config.ts';
import { HaloError, type ErrorCode } from '../../core/failure/errors.ts';
import { memoizeAsync } from '../../lib/async.ts';
import { execa } from '../../lib/execa.ts';
import { readRegularText } from '../../lib/fs.ts';

/** Where a secret is: one of the three is set. */
interface SecretSource {
  /** Name of a variable in the worker's environment. */
  env: string | undefined;
  /** Absolute path. */
  file: string | undefined;
  /** A command line for `sh`. */
  command: string | undefined;
}

/** What a secret is for, in messages. */
interface SecretPurpose {
  code: ErrorCode;
  /** Such as `key of the model`. */
  what: string;
  /** The table of the configuration, with brackets. */
  table: string;
  /** Its keys: for a variable, a file and a command. */
  keys: readonly [string, string, string];
}

export type SecretReader = (source: SecretSource, purpose: SecretPurpose) => Promise<string>;

const MAX_BYTES = 64 * 1024;
/** The user may have to touch a device or unlock a store first. */
const COMMAND_TIMEOUT_MS = 120_000;
/** What an HTTP header can hold: visible ASCII without spaces. */
const SECRET = /^[\x21-\x7e]{1,8192}$/;

/**
 * Reads secrets that are sent in HTTP headers. A command runs once per worker; a file is read each time, since it may be
 * replaced. Errors never contain a secret. The reader throws the code of the purpose.
 */
export function openSecretReader(readVariable: (name: string) => string | undefined): SecretReader {
  // A failure is not cached: the next call may work, for example after a password store was unlocked.
  const outputOf = memoizeAsync(runCommand);
  return async ({ env, file, command }, purpose) => {
    const { code, what, table, keys } = purpose;
    if (command !== undefined) {
      const output = await outputOf(command).catch((error: Error) => {
        throw new HaloError(code, `The command in ${table} ${keys[2]} ${error.message}.`, {
          hint: 'Run it manually as the user of the worker to see its output.',
        });
      });
      return parseSecret(output, `The output of ${table} ${keys[2]}`, purpose);
    }
    if (file !== undefined) return parseSecret(await readSecretFile(file, purpose), `The file ${file}`, purpose);
    const value = env === undefined ? undefined : readVariable(env);
    if (value !== undefined) return parseSecret(value, `The variable ${env}`, purpose);
    throw new HaloError(code, `The worker’s environment does not have ${env ?? `a ${what}`}.`, {
      hint: `Export ${env ?? 'it'} where the worker starts, and restart the worker; or set ${table} ${keys[0]}, ${keys[1]} or ${keys[2]}.`,
    });
  };
}

/** The output of a command such as `pass show x`. Throws how it failed, without its output. */
async function runCommand(command: string): Promise<string> {
  const result = await execa('sh', ['-c', command], {
    stdin: 'ignore',
    stderr: 'ignore',
    timeout: COMMAND_TIMEOUT_MS,
    maxBuffer: MAX_BYTES,
    reject: false,
  });
  if (!result.failed) return result.stdout;
  throw new Error(result.timedOut ? 'did not end in time' : `ended with exit code ${result.exitCode ?? 'unknown'}`);
}

async function readSecretFile(path: string, { code, what, table, keys }: SecretPurpose): Promise<string> {
  try {
    return await readRegularText(path, MAX_BYTES);
  } catch (error) {
    const { code: fault, message } = error as NodeJS.ErrnoException;
    throw new HaloError(code, `The file with the ${what}, ${path}, cannot be read (${fault ?? message}).`, {
      hint: `Fix ${table} ${keys[1]}, or make the file readable for the worker.`,
      cause: error,
    });
  }
}

function parseSecret(text: string, where: string, { code, what }: SecretPurpose): string {
  const secret = text.trim();
  if (SECRET.test(secret)) return secret;
  throw new HaloError(code, `${where} is not one line with a ${what}.`, {
    hint: `Put only the ${what} there, in one line.`,
  });
}

const PURPOSE = {
  code: 'MODEL_KEY_MISSING',
  what: 'key of the model',
  keys: ['key_env', 'key_file', 'key_command'],
} as const satisfies Partial<SecretPurpose>;

/** Reads all keys of a model provider as configured, in their order. Throws MODEL_KEY_MISSING. */
export function openProviderKeys(read: SecretReader): (source: ModelSource) => Promise<string[]> {
  return (source) =>
    Promise.all(
      [source, ...source.keys].map(({ keyEnv, keyFile, keyCommand }, position) =>
        read({ env: keyEnv, file: keyFile, command: keyCommand }, { ...PURPOSE, table: tableOf(position) }),
      ),
    );
}

/** Names the place of a key for messages, e.g. `the file /etc/key`. `position`: from 0. */
export function describeKeySource({ keyEnv, keyFile, keyCommand }: KeySource, position: number): string {
  if (keyCommand !== undefined) return `what ${tableOf(position)} key_command prints`;
  if (keyFile !== undefined) return `the file ${keyFile}`;
  return keyEnv ?? 'the key of the model';
}

function tableOf(position: number): string {
  return position === 0 ? '[model]' : '[[model.keys]]';
}
