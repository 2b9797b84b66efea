import type { LockedTests, TestsStep } from '../review/tests-first.ts';
import type { TestChanges } from '../test-report/test-report.ts';

/** Events about the tests of a story, without its name. */
export type TestsEntry =
  /** What was found about the tests that were written first; `why`: what is wrong with them. */
  | { type: 'tests.judged'; step: TestsStep; why?: string }
  /**
   * Tests that failed on the base commit: from now on the attempt may not change them. `commit`: with the tests, on `base`;
   * `from`: the earlier attempt that wrote them, if it was not this one.
   */
  | ({ type: 'tests.locked'; base: string; commit: string; from?: number } & LockedTests)
  /**
   * An agent refactored the change; `why`: why its work was dropped, and the change lands as it was; `unchanged`: because it
   * found nothing to improve.
   */
  | { type: 'refactor.ended'; kept: boolean; why?: string; unchanged?: true }
  /** Tests of the candidate compared with those of its base; the lists may be truncated. */
  | ({ type: 'tests.compared' } & TestChanges);
