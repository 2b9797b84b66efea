import type { Reporter, TestModule } from 'vitest/node';
import { faultsOf, recordMatrix, type Cell, type TableName } from '../../chaos/failpoints/matrix.ts';

/**
 * Prints, after the tests in test/chaos, what became of each fault at each failpoint; with HALO_TEST_RECORD it goes into
 * test/chaos/faults.md.
 */
export default class MatrixReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const metas = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.meta()));
    report('worker', metas.flatMap(({ chaos }) => chaos ?? [])); // prettier-ignore
    report('engines', metas.flatMap(({ engineChaos }) => engineChaos ?? [])); // prettier-ignore
  }
}

function report(table: TableName, cells: Cell[]): void {
  if (cells.length === 0) return;
  const faults = faultsOf(table);
  const points = [...new Set(cells.map(({ at }) => at))];
  const rows = points.map((at) => [at, ...faults.map((fault) => find(cells, at, fault))]);
  const lines = [['FAILPOINT', ...faults.map((fault) => fault.toUpperCase())], ...rows];
  const text = lines.map((row) =>
    row
      .map((cell) => cell.padEnd(22))
      .join('')
      .trimEnd(),
  );
  process.stdout.write(`\n${text.join('\n')}\n\n${cells.length} cells held\n`);
  if (process.env.HALO_TEST_RECORD !== undefined) recordMatrix(table, cells);
}

function find(cells: Cell[], at: string, fault: string): string {
  return cells.find((cell) => cell.at === at && cell.fault === fault)?.outcome ?? '-';
}
