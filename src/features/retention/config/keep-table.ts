import { z } from 'zod';
import { key } from '../../../config/schema/key-metadata.ts';
import { Duration, Size, wholeNumber } from '../../../config/schema/values.ts';
import { HOST_FILE } from '../../../config/trust/key-trust.ts';

/** `[keep]`: what [retention](retention.md) removes. */
export const KeepTable = z.strictObject({
  artifacts: key(
    Duration.optional(),
    [
      'duration',
      undefined,
      `How long artifacts of a run are kept after its end, like \`"30d"\` ([retention](retention.md)).`,
    ],
    HOST_FILE,
  ),
  runs: key(
    wholeNumber(0, 1_000_000).optional(),
    ['whole number', undefined, `Only this many ended runs, the newest, keep their artifacts.`],
    HOST_FILE,
  ),
  journals: key(
    Duration.optional(),
    ['duration', undefined, `How long a run is kept after its end, with its journal, like \`"365d"\`.`],
    HOST_FILE,
  ),
  max_size: key(
    Size.optional(),
    ['size', undefined, `Maximum size of all runs: artifacts of the oldest go first, then the oldest runs.`],
    HOST_FILE,
  ),
});
