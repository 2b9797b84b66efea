import { z } from 'zod';
import { key } from './key-facts.ts';
import { Duration, Size, Text, wholeNumber } from './schema/values.ts';

const CPUS = 'must be a number from 0.1 to 1024';

/** `[limits]`: what one sandbox may use. */
export const LimitsTable = z.strictObject({
  cpus: key(z.number({ error: CPUS }).min(0.1, CPUS).max(1024, CPUS), ['number', 2, 'CPUs of a sandbox.']),
  memory: key(
    Size.refine((bytes) => bytes >= 64 * 1024 * 1024, 'must be at least "64m"'),
    ['size', '4g', 'Memory of a sandbox, without swap.'],
  ),
  pids: key(wholeNumber(16, 1_000_000), ['whole number', 512, 'Most processes and threads of a sandbox at once.']),
  files: key(wholeNumber(256, 1_048_576), ['whole number', 8192, 'Most open files of one process.']),
  file_size: key(Size, ['size', '1g', 'Largest file that can be written.']),
  disk: key(
    Size.refine((bytes) => bytes >= 16 * 1024 * 1024, 'must be at least "16m"'),
    ['size', '10g', 'Most that the workspace may hold; each file and folder counts as at least 4 KiB.'],
  ),
  free_disk: key(Size, [
    'size',
    '2g',
    'What must stay free on the disk of the engine: below it no sandbox starts, and the largest workspace is ended.',
  ]),
  wall: key(Duration, ['duration', '45m', 'Longest time of one command of a sandbox.']),
  idle: key(Duration, ['duration', '10m', 'Longest time of one command without any output.']),
  output: key(Size, ['size', '64m', 'Most output of one command.']),
});

const Images = z.array(
  Text.refine((name) => !name.slice(0, -1).includes('*'), 'may hold a * at its end only'),
  { error: 'must be a list like ["node:22", "ghcr.io/team/*"]' },
);

/** `[sandbox]`: what runs them. */
export const SandboxTable = z.strictObject({
  images: key(Images, [
    'list of strings',
    [],
    'Images of this machine that the file of a repository, or a request, may name as `image`; a `*` at the end stands for any text. halo’s own always may.',
  ]),
  runtime: key(
    Text.refine((name) => /^[\w][\w.-]*$/.test(name), 'must be "auto" or the name of a runtime of the engine'),
    [
      'string',
      'auto',
      'Runtime of the sandboxes, as the engine names it: `runc`, `runsc`, …; `auto`: `runsc` where it is there and passes its probe, else the default of the engine.',
    ],
  ),
});
