import type { Reporter, TestModule } from 'vitest/node';
import { FAULTS } from '../../../src/core/failure/failpoint-names.ts';
import { recordMatrix } from '../../chaos/failpoints/matrix.ts';
import type { Cell } from '../../chaos/failpoints/survive-kill.ts';

/**
 * Prints, after the tests in test/chaos, what became of each fault at each failpoint; with HALO_TEST_RECORD it goes into
 * test/chaos/faults.md.
 */
export default class MatrixReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const cells = tests.flatMap((test) => test.meta().chaos ?? []);
    if (cells.length === 0) return;
    const points = [...new Set(cells.map(({ at }) => at))];
    const rows = points.map((at) => [at, ...FAULTS.map((fault) => find(cells, at, fault))]);
    const lines = [['FAILPOINT', ...FAULTS.map((fault) => fault.toUpperCase())], ...rows];
    const text = lines.map((row) =>
      row
        .map((cell) => cell.padEnd(22))
        .join('')
        .trimEnd(),
    );
    process.stdout.write(`\n${text.join('\n')}\n\n${cells.length} cells held\n`);
    if (process.env.HALO_TEST_RECORD !== undefined) recordMatrix(cells);
  }
}

function find(cells: Cell[], at: string, fault: string): string {
  return cells.find((cell) => cell.at === at && cell.fault === fault)?.outcome ?? '-';
}
