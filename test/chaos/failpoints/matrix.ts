import { readFileSync, writeFileSync } from 'node:fs';
import { FAILPOINTS, FAULTS, type Failpoint, type Fault } from '../../../src/core/failure/failpoint-names.ts';

const PAGE = new URL('../faults.md', import.meta.url);
/** The rows of the matrix, between its head and the next empty line. */
const ROWS = /(^\| failpoint .*\n\| ---.*\n)((?:\|.*\n)*)/m;

/** Outcome by failpoint and fault; '' for an untested one, which a test refuses. */
export type Matrix = Map<string, Record<Fault, string>>;

/** The matrix as test/chaos/faults.md has it. */
export function readMatrix(): Matrix {
  const rows = ROWS.exec(readFileSync(PAGE, 'utf8'))?.[2]?.trimEnd().split('\n') ?? [];
  return new Map(
    rows.map((row) => {
      const [at = '', , ...cells] = row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      return [at.replaceAll('`', ''), byFault((_fault, index) => cells[index] ?? '')];
    }),
  );
}

/** Writes outcomes into the page, beside those that it has of failpoints which still exist. */
export function recordMatrix(cells: readonly { at: Failpoint; fault: Fault; outcome: string }[]): void {
  const known = readMatrix();
  const rows = Object.entries(FAILPOINTS).map(([at, where]) => {
    const outcomes = byFault((fault) => {
      const tried = cells.find((cell) => cell.at === at && cell.fault === fault);
      return tried?.outcome ?? known.get(at)?.[fault] ?? '';
    });
    return `| ${[`\`${at}\``, where, ...FAULTS.map((fault) => outcomes[fault])].join(' | ')} |\n`;
  });
  writeFileSync(
    PAGE,
    readFileSync(PAGE, 'utf8').replace(ROWS, (_all, head: string) => head + rows.join('')),
  );
}

function byFault(outcome: (fault: Fault, index: number) => string): Record<Fault, string> {
  return Object.fromEntries(FAULTS.map((fault, index) => [fault, outcome(fault, index)])) as Record<Fault, string>;
}
