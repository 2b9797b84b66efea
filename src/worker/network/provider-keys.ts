import type { KeySource, ModelSource } from '../../config/config.ts';
import type { SecretPurpose, SecretReader } from './secret-reader.ts';

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
