import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { key } from './key-metadata.ts';
import { owner, PROVIDER_KEY } from '../trust/key-trust.ts';
import { BaseUrl, HostPath, Text, VariableName } from './values.ts';

const FurtherKeys = z.array(
  z
    .strictObject({
      key_env: VariableName.optional(),
      key_file: Text.refine(isAbsolute, 'must be an absolute path').optional(),
      key_command: Text.optional(),
    })
    .refine(
      (sources) => Object.values(sources).filter((source) => source !== undefined).length === 1,
      'must have one of key_env, key_file and key_command',
    ),
  { error: 'must be a list of tables, like [{ key_env = "SECOND_KEY" }]' },
);

/** The URL of a provider and the source of its key. The defaults are those of the provider's own tools. */
export function provider(baseUrl: string) {
  return {
    base_url: key(BaseUrl.optional(), ['URL', undefined, baseUrl], PROVIDER_KEY),
    key_env: key(
      VariableName.optional(),
      ['variable name', undefined, 'Variable of the worker that contains the key.'],
      PROVIDER_KEY,
    ),
    key_file: key(
      HostPath.optional(),
      ['path', undefined, 'File on the worker’s machine that contains the key.'],
      PROVIDER_KEY,
    ),
    key_command: key(
      Text.optional(),
      ['string', undefined, 'Command on the worker’s machine that prints the key; run once per worker.'],
      PROVIDER_KEY,
    ),
    keys: key(
      FurtherKeys,
      ['list of tables', [], '[Further keys](gateway.md#several-keys), used while the keys before them have a pause.'],
      owner('choose keys of models'),
    ),
  };
}
