import { z } from 'zod';
import { key } from './key-metadata.ts';
import { owner, tighten } from '../trust/key-trust.ts';
import { Duration, Size, sizeOfAtLeast, Text, wholeNumber } from './values.ts';

const CPUS = 'must be a number from 0.1 to 1024';

/** `[limits]`: resource limits of one sandbox. */
export const LimitsTable = z.strictObject({
  cpus: key(
    z.number({ error: CPUS }).min(0.1, CPUS).max(1024, CPUS),
    ['number', 2, 'CPUs of a sandbox.'],
    tighten('lower'),
  ),
  memory: key(sizeOfAtLeast('64m'), ['size', '4g', 'Memory of a sandbox, without swap.'], tighten('lower')),
  pids: key(
    wholeNumber(16, 1_000_000),
    ['whole number', 512, 'Maximum number of processes and threads of a sandbox.'],
    tighten('lower'),
  ),
  files: key(
    wholeNumber(256, 1_048_576),
    ['whole number', 8192, 'Maximum number of open files of a process.'],
    tighten('lower'),
  ),
  file_size: key(Size, ['size', '1g', 'Maximum size of a file.'], tighten('lower')),
  disk: key(
    sizeOfAtLeast('16m'),
    ['size', '10g', 'Maximum size of the workspace; each file and folder counts as at least 4 KiB.'],
    tighten('lower'),
  ),
  free_disk: key(
    Size,
    [
      'size',
      '2g',
      'Minimum free space on the disk of the engine. Below it, no sandbox starts, and the sandbox with the largest workspace is killed.',
    ],
    { rule: 'tighten', order: 'higher', defaultCounts: true, local: true },
  ),
  wall: key(Duration, ['duration', '45m', 'Maximum duration of a command.'], tighten('lower')),
  idle: key(Duration, ['duration', '10m', 'Maximum time without output of a command.'], tighten('lower')),
  output: key(Size, ['size', '64m', 'Maximum output of a command.'], tighten('lower')),
});

const Images = z.array(
  Text.refine((name) => !name.slice(0, -1).includes('*'), 'may contain a * only at its end'),
  { error: 'must be a list like ["node:22", "ghcr.io/team/*"]' },
);

/** `[sandbox]`: images and runtime of sandboxes. */
export const SandboxTable = z.strictObject({
  images: key(
    Images,
    [
      'list of strings',
      [],
      'Images that repositories and requests may use as `image`; a `*` at the end matches any text. halo’s own is always allowed.',
    ],
    owner('choose the allowed images'),
  ),
  service_images: key(
    Images,
    [
      'list of strings',
      ['postgres:*', 'mariadb:*', 'mysql:*', 'redis:*'],
      'Images that repositories and requests may use for [services](services.md); a `*` at the end matches any text.',
    ],
    owner('choose the allowed images of services'),
  ),
  runtime: key(
    Text.refine((name) => /^[\w][\w.-]*$/.test(name), 'must be "auto" or the name of a runtime of the engine'),
    [
      'string',
      'auto',
      'Runtime of the sandboxes: `runc`, `runsc`, …; `auto`: `runsc` if it passes the isolation check, otherwise the engine’s default.',
    ],
    owner('choose the runtime of sandboxes'),
  ),
});
