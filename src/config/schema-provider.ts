import { key } from './key-facts.ts';
import { BaseUrl, Text, VariableName } from './schema/values.ts';

/** Where a provider is, and the key for it. Without any, what the provider's own tools use. */
export function provider(baseUrl: string) {
  return {
    base_url: key(BaseUrl.optional(), ['URL', undefined, baseUrl]),
    key_env: key(VariableName.optional(), [
      'variable name',
      undefined,
      'Name of the variable, in the environment of the worker, that holds the key.',
    ]),
    key_file: key(Text.optional(), ['path', undefined, 'File on the worker’s machine that holds the key.']),
    key_command: key(Text.optional(), [
      'string',
      undefined,
      'Command on the worker’s machine that prints the key; run once per worker.',
    ]),
  };
}
