import { z } from 'zod';
import { tighten } from '../trust/key-trust.ts';
import { key } from './key-metadata.ts';
import { oneOf, ReportPaths } from './values.ts';

/** `[tests]`. */
export const TestsTable = z.strictObject({
  removed: key(
    oneOf('report', 'block'),
    ['word', 'report', 'If a story removes, skips or empties existing tests: `report` it, or `block` the story.'],
    tighten(['report', 'block']),
  ),
  baseline: key(
    oneOf('auto', 'always', 'never'),
    [
      'word',
      'auto',
      'When the gates also run on the base commit, once per commit: `auto`: if they report tests, and when a gate fails; `always`; `never`.',
    ],
    { rule: 'tighten', order: ['never', 'auto', 'always'], defaultCounts: true },
  ),
  reports: key(ReportPaths, [
    'list of paths',
    [],
    'Test report files that the gates write: JUnit XML, or the JSON of jest or vitest. The output of gates is always read as well.',
  ]),
});
