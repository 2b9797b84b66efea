import { failedIf, type CollectedTests, type TestCase } from './collect-tests.ts';
import type { LineReader, PrintedTest } from './line-reader.ts';

/** `--- PASS: TestAdds (0.00s)`; output without a newline may precede it. */
const END = /--- (PASS|FAIL|SKIP): (\S+) \(-?[\d.]+s\)$/;
const BEGIN = /=== RUN +(\S+)$/;
/** gotestsum */
const SUM = /^DONE (\d+) tests?\b/;
const PACKAGE = /^(ok|FAIL|---|\?) *\t(\S+)\t?(.*)$/;

/** `go test -v`: the names of tests precede the line of their package. */
export function readGoTest(): LineReader {
  let tests: PrintedTest[] = [];
  let open = new Map<string, PrintedTest[]>();
  let reported = 0;
  const reset = () => {
    tests = [];
    open = new Map();
  };
  return {
    runner: 'go test',
    advice: 'add `-v`',
    reset,
    read(line) {
      const name = BEGIN.exec(line)?.[1];
      if (name !== undefined) {
        const test = { names: [name], skipped: false };
        tests.push(test);
        const others = open.get(name);
        if (others === undefined) open.set(name, [test]);
        else others.push(test);
        return undefined;
      }
      const [, outcome, ended] = END.exec(line) ?? [];
      if (outcome !== undefined && ended !== undefined) {
        // A text that a test prints may look like an end.
        const test = open.get(ended)?.pop();
        if (test !== undefined) Object.assign(test, { skipped: outcome === 'SKIP', ...failedIf(outcome === 'FAIL') });
        return undefined;
      }
      const sum = SUM.exec(line)?.[1];
      if (sum !== undefined) {
        const report = { tests: [], counted: Number(sum), named: reported, advice: 'use `--format standard-verbose`' };
        reported = 0;
        reset();
        return report;
      }
      const [, result, path, rest = ''] = PACKAGE.exec(line) ?? [];
      if (result === undefined || path === undefined) return undefined;
      const isEmpty = result === '?' || /\[(?:no tests to run|build failed|setup failed)\]/.test(`${path} ${rest}`);
      const report = {
        tests: tests.map((test) => ({ ...test, names: [path, ...test.names] })),
        counted: isEmpty ? 0 : ('some' as const),
      };
      reported += tests.length;
      reset();
      return report;
    },
  };
}

const ENDS = ['pass', 'fail', 'skip'];

/** `go test -json`: an event per line. A test without an end has printed text before it. */
export function readGoJson(text: string, tests: CollectedTests): boolean {
  let found = false;
  const open = new Map<string, TestCase>();
  for (const [line] of text.matchAll(/^\{"(?:Time|Action|ImportPath)":.{1,4000}\}$/gm)) {
    const { Action: action, Package: path, Test: name } = parse(line);
    if (typeof action !== 'string' || typeof path !== 'string') continue;
    found ||= ENDS.includes(action);
    if (typeof name !== 'string' || tests.isFull()) continue;
    const key = `${path} ${name}`;
    if (action === 'run') open.set(key, tests.add([path, name], { skipped: false }));
    const test = ENDS.includes(action) ? open.get(key) : undefined;
    if (test !== undefined) Object.assign(test, { skipped: action === 'skip', ...failedIf(action === 'fail') });
  }
  return found;
}

function parse(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return {};
  }
}
