import type { TestModule } from 'vitest/node';

/** A row of a printed table: what its tests name it by, and what else to say of it. */
export interface HeldRow {
  id: string;
  cells: string[];
}

export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** How the tests of each row ended; `idsIn` reads the rows that a test's full name gives. */
export function tallyRows(modules: readonly TestModule[], idsIn: (name: string) => string[]): Map<string, Tally> {
  const tallies = new Map<string, Tally>();
  for (const test of modules.flatMap((module) => [...module.children.allTests()])) {
    const { state } = test.result();
    const end = state === 'passed' || state === 'failed' ? state : 'skipped';
    for (const id of idsIn(test.fullName)) {
      const tally = tallies.get(id) ?? { passed: 0, failed: 0, skipped: 0 };
      tallies.set(id, { ...tally, [end]: tally[end] + 1 });
    }
  }
  return tallies;
}

/** Prints each row with a last column that says whether it held. */
export function printHeldTable(head: string[], rows: HeldRow[], tallies: Map<string, Tally>): void {
  const lines = [['', ...head, 'HELD'], ...rows.map(({ id, cells }) => [id, ...cells, describeTally(tallies.get(id))])];
  const widths = lines[0]!.map((_cell, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const text = lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  process.stdout.write(`\n${text.join('\n')}\n\n`);
}

function describeTally(tally: Tally | undefined): string {
  if (tally === undefined) return 'not tried';
  const { passed, failed } = tally;
  if (failed > 0) return `NO (${failed} of ${passed + failed})`;
  return passed > 0 ? `yes (${passed})` : 'skipped';
}
