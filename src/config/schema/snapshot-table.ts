import { z } from 'zod';
import { LOCAL, owner, tighten } from '../trust/key-trust.ts';
import { key } from './key-metadata.ts';
import { GlobList, oneOf, Size } from './values.ts';

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
