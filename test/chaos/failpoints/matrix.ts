import { readFileSync, writeFileSync } from 'node:fs';
import { FAILPOINTS, FAULTS, type Failpoint } from '../../../src/core/failure/failpoint-names.ts';
import { ENGINE_POINTS } from '../../support/faults/points.ts';

const PAGE = new URL('../faults.md', import.meta.url);

/** What happens to engines of other machines, to the server, or in between, while workers are at failpoints. */
export const ENGINE_FAULTS = [
  'cut',
  'delay',
  'worker killed',
  'engine killed',
  'engine restarted',
  'engine disk full',
  'server restarted',
  'server disk full',
  'times shifted',
] as const;
export type EngineFault = (typeof ENGINE_FAULTS)[number];

interface Table {
  faults: readonly string[];
  points: readonly Failpoint[];
  /** What precedes the outcomes in a row. */
  head: (at: Failpoint) => string[];
  /** The rows of the table, between its head and the next empty line. */
  rows: RegExp;
}

const TABLES = {
  worker: {
    faults: FAULTS,
    points: Object.keys(FAILPOINTS) as Failpoint[],
    head: (at) => [`\`${at}\``, FAILPOINTS[at]],
    rows: /(^\| failpoint \| state .*\n\| ---.*\n)((?:\|.*\n)*)/m,
  },
  engines: {
    faults: ENGINE_FAULTS,
    points: ENGINE_POINTS,
    head: (at) => [`\`${at}\``],
    rows: /(^\| failpoint \| cut .*\n\| ---.*\n)((?:\|.*\n)*)/m,
  },
} satisfies Record<string, Table>;
export type TableName = keyof typeof TABLES;

/** A fault that came about at a failpoint, and what became of it. */
export interface Cell {
  at: Failpoint;
  fault: string;
  outcome: string;
}

/** Outcome by failpoint and fault; '' for an untested one, which a test refuses. */
export type Matrix = Map<string, Record<string, string>>;

/** A matrix as test/chaos/faults.md has it. */
export function readMatrix(name: TableName): Matrix {
  const { faults, head, rows: pattern }: Table = TABLES[name];
  const rows = pattern.exec(readFileSync(PAGE, 'utf8'))?.[2]?.trimEnd().split('\n') ?? [];
  return new Map(
    rows.map((row) => {
      const texts = row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      const [at = ''] = texts;
      const outcomes = texts.slice(head('job.taken').length);
      return [at.replaceAll('`', ''), Object.fromEntries(faults.map((fault, index) => [fault, outcomes[index] ?? '']))];
    }),
  );
}

/** Writes outcomes into the page, beside those that it has of failpoints which still exist. */
export function recordMatrix(name: TableName, cells: readonly Cell[]): void {
  const { faults, points, head, rows: pattern }: Table = TABLES[name];
  const known = readMatrix(name);
  const rows = points.map((at) => {
    const outcomes = faults.map((fault) => {
      const tried = cells.find((cell) => cell.at === at && cell.fault === fault);
      return tried?.outcome ?? known.get(at)?.[fault] ?? '';
    });
    return `| ${[...head(at), ...outcomes].join(' | ')} |\n`;
  });
  writeFileSync(
    PAGE,
    readFileSync(PAGE, 'utf8').replace(pattern, (_all, start: string) => start + rows.join('')),
  );
}

/** The faults of a table, in the order of its columns. */
export function faultsOf(name: TableName): readonly string[] {
  return TABLES[name].faults;
}
