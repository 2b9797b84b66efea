import { key } from './key-metadata.ts';
import { PROVIDER_KEY } from '../trust/key-trust.ts';
import { BaseUrl, Text, VariableName } from './values.ts';

/** The URL of a provider and the source of its key. The defaults are those of the provider's own tools. */
export function provider(baseUrl: string) {
  return {
    base_url: key(BaseUrl.optional(), ['URL', undefined, baseUrl], PROVIDER_KEY),
    key_env: key(
      VariableName.optional(),
      ['variable name', undefined, 'Name of the variable, in the environment of the worker, that contains the key.'],
      PROVIDER_KEY,
    ),
    key_file: key(
      Text.optional(),
      ['path', undefined, 'File on the worker’s machine that contains the key.'],
      PROVIDER_KEY,
    ),
    key_command: key(
      Text.optional(),
      ['string', undefined, 'Command on the worker’s machine that prints the key; run once per worker.'],
      PROVIDER_KEY,
    ),
  };
}
