import type { ModelSource } from '../../config/config.ts';
import type { SecretPurpose, SecretReader } from './secret-reader.ts';

const MODEL_KEY: SecretPurpose = {
  code: 'MODEL_KEY_MISSING',
  what: 'key of the model',
  table: '[model]',
  keys: ['key_env', 'key_file', 'key_command'],
};

/** Reads the keys of model providers as configured. Throws MODEL_KEY_MISSING. */
export function openProviderKeys(read: SecretReader): (source: ModelSource) => Promise<string> {
  return ({ keyEnv, keyFile, keyCommand }) => read({ env: keyEnv, file: keyFile, command: keyCommand }, MODEL_KEY);
}
