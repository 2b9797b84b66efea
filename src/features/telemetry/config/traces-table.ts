import { z } from 'zod';
import { key } from '../../../config/schema/key-metadata.ts';
import { Text, VariableName } from '../../../config/schema/values.ts';
import { HOST_FILE } from '../../../config/trust/key-trust.ts';

/** `[traces]`: where traces of runs are sent. */
export const TracesTable = z.strictObject({
  endpoint: key(
    Text.refine(
      (text) => /^https?:/.test(text) && URL.canParse(text),
      'must be a URL like "http://localhost:4318"',
    ).optional(),
    [
      'URL',
      undefined,
      'OTLP/HTTP collector that gets a [trace](monitoring.md#traces) of each ended run, at `/v1/traces`.',
    ],
    HOST_FILE,
  ),
  headers_env: key(
    VariableName.optional(),
    ['variable name', undefined, 'Variable of the workers with headers for the collector, as `name=value,name=value`.'],
    HOST_FILE,
  ),
});
