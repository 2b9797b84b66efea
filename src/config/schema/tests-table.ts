import { z } from 'zod';
import { BROKEN_BASE_MODES } from '../../core/failure/broken-base.ts';
import { TESTS_FIRST_MODES } from '../../core/prd/tests-first-field.ts';
import { ANYONE, landRight, LOCAL, tighten } from '../trust/key-trust.ts';
import { key } from './key-metadata.ts';
import { GlobList, oneOf, ReportPaths, TestCommand } from './values.ts';

/** `[tests]`. */
export const TestsTable = z.strictObject({
  first: key(
    oneOf(...TESTS_FIRST_MODES),
    [
      'word',
      'off',
      'Whether a story begins with [its tests](tests-first.md), which must fail before its change and pass after it: `on`; `report`: only report problems; `off`. A PRD and a story can [ask for more](tests-first.md#per-prd-and-per-story), not for less.',
    ],
    tighten(TESTS_FIRST_MODES),
  ),
  command: key(
    TestCommand.optional(),
    [
      'string',
      undefined,
      'Command that runs the tests of a story, such as `pytest -v {files}`; `{files}` is replaced by their paths. Required for stories that begin with their tests.',
    ],
    LOCAL,
  ),
  files: key(
    GlobList,
    [
      'list of globs',
      ['**/*.{test,spec}.*', '**/test_*'],
      'Files that the tests of a story may be written to, if `tests.first` is not `off`; `{id}` is replaced by the id of the story.',
    ],
    LOCAL,
  ),
  refactor: key(
    z.boolean({ error: 'must be true or false' }),
    [
      'true or false',
      false,
      'Whether an agent refactors a change whose locked tests and gates pass, before it lands ([tests first](tests-first.md#refactoring)).',
    ],
    ANYONE,
  ),
  removed: key(
    oneOf('report', 'block'),
    [
      'word',
      'report',
      'If a story removes, skips or empties existing tests: `report` it, or `block`: fail the attempt with `GATE_FAILED`.',
    ],
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
  broken_base: key(
    oneOf(...BROKEN_BASE_MODES),
    [
      'word',
      'stop',
      'If a gate fails after the agent as on the base commit ([a broken base](proof.md#a-broken-base)): `stop` the story, `ask` a person, or `retry` so that the agent repairs it.',
    ],
    ANYONE,
  ),
  reports: key(
    ReportPaths,
    [
      'list of paths',
      [],
      'Test report files that the gates write: JUnit XML, or the JSON of jest or vitest. The output of gates is always read as well.',
    ],
    landRight('unproven'),
  ),
});
