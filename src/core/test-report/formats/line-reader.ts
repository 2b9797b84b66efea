import { stripStyling } from '../../text/safe-text.ts';
import { shortLines, type CollectedTests, type TestCase } from './collect-tests.ts';

/** A test in the output of a runner: its suites from the outermost to the innermost, then its name. */
export interface PrintedTest {
  names: string[];
  skipped: boolean;
  failed?: boolean;
}

/** The end of one report. */
export interface PrintedReport {
  tests: readonly PrintedTest[];
  /** How many tests the runner counted, or `some` if it ran tests without a count. */
  counted: number | 'some';
  /** How many of them the output names, if not all of `tests` are among those counted. */
  named?: number;
  /** Instead of that of the reader. */
  advice?: string;
}

/** Reads the lines that a test runner prints for people. */
export interface LineReader {
  runner: string;
  /** How to make the runner name its tests. */
  advice: string;
  /** A line that ends a report; group 1, or 2, is the number of its tests, which `tests` returns. */
  sum?: RegExp;
  tests?(): readonly PrintedTest[];
  /** Takes another line, without colors. Returns the report that it ends. */
  read(line: string): PrintedReport | undefined;
  /** Forgets the lines of a report that has ended, or turned out to be that of another runner. */
  reset(): void;
  /** The report that the end of the output ends, if it is one. */
  end?(): PrintedReport | undefined;
}

/**
 * Reads the reports of several runners, one after another, in one text. The line that ends a report, usually a sum,
 * decides which runner has printed the lines since the report before. Returns whether there was a report.
 */
export function readLines(text: string, readers: readonly LineReader[], tests: CollectedTests): boolean {
  let found = false;
  const take = (reader: LineReader, report: PrintedReport | undefined): boolean => {
    if (report === undefined) return false;
    found = true;
    addReport(report, reader, tests);
    return true;
  };
  for (const raw of shortLines(text)) {
    const line = toPlain(raw);
    const ended = readers.find((reader) => take(reader, readLine(reader, line)));
    if (ended !== undefined) for (const reader of readers) if (reader !== ended) reader.reset();
  }
  for (const reader of readers) take(reader, reader.end?.());
  return found;
}

function readLine(reader: LineReader, line: string): PrintedReport | undefined {
  const [, count, other] = reader.sum?.exec(line) ?? [];
  const counted = count ?? other;
  if (counted === undefined) return reader.read(line);
  const report = { tests: reader.tests?.() ?? [], counted: Number(counted) };
  reader.reset();
  return report;
}

/** Without colors, blanks at the end, and what a carriage return overwrites. */
function toPlain(raw: string): string {
  const line = stripStyling(raw).trimEnd();
  return line.slice(line.lastIndexOf('\r') + 1);
}

function addReport(report: PrintedReport, { runner, advice }: LineReader, tests: CollectedTests): void {
  for (const { names, ...facts } of report.tests) {
    if (tests.isFull()) return;
    tests.add(names, facts satisfies Omit<TestCase, 'name'>);
  }
  const named = report.named ?? report.tests.length;
  const why = `${runner} ${countOf(report.counted, named)}: ${report.advice ?? advice}`;
  const isMissed = report.counted === 'some' ? named === 0 : named < report.counted;
  if (isMissed) tests.miss(why, report.counted);
}

function countOf(counted: number | 'some', named: number): string {
  if (counted === 'some') return 'ran tests without naming them';
  const all = `${counted} ${counted === 1 ? 'test' : 'tests'}`;
  return named === 0 ? `ran ${all} without naming them` : `ran ${all}, of which ${named} could be read`;
}
