import { z } from 'zod';
import { HOST_FILE, LOCAL, owner, tighten } from '../trust/key-trust.ts';
import { key } from './key-metadata.ts';
import { Duration, GlobList, oneOf, Size, wholeNumber } from './values.ts';

const SHARE = 'must be a number from 0 to 1';

/** `[snapshot]`. */
export const SnapshotTable = z.strictObject({
  mode: key(
    oneOf('auto', 'overlay', 'copy', 'off'),
    [
      'word',
      'auto',
      'How workspaces get the [snapshot](snapshots.md): `overlay` mounts it, `copy` copies it; `auto`: `overlay` if the engine can; `off`: setup always runs.',
    ],
    tighten(['auto', 'overlay', 'copy', 'off']),
  ),
  inputs: key(
    GlobList.min(1, 'must name at least one file').optional(),
    [
      'list of globs',
      undefined,
      'Files that decide what setup installs. Default: lockfiles and manifests for commands such as `npm ci`, otherwise the whole tree.',
    ],
    LOCAL,
  ),
  recheck: key(
    z.number({ error: SHARE }).min(0, SHARE).max(1, SHARE),
    ['number', 0.02, 'Share of uses for which setup runs again, to compare the result with the snapshot.'],
    tighten('higher'),
  ),
  max_size: key(
    Size,
    ['size', '20g', 'Maximum size of all snapshots; those unused for the longest time go first.'],
    owner('choose how much disk snapshots use'),
  ),
});

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
