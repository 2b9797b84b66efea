import { failedIf } from './collect-tests.ts';
import type { LineReader, PrintedTest } from './line-reader.ts';

/** `test_adds (test_calc.Calc.test_adds)`; before Python 3.11 without the name in the brackets; subtests are indented. */
const HEAD = /^( *)(\w+) \(([\w.<>]+)\)(.*)$/;
const OUTCOMES = /(?:^| \.\.\. )(ok|FAIL|ERROR|expected failure|unexpected success|skipped (?:'.*'|".*"))$/;
const SUM = /^Ran (\d+) tests? in [\d.]+s$/;

/** unittest with `-v`. The outcome may be below the docstring or the output of the test. */
export function readUnittest(): LineReader {
  let tests: PrintedTest[] = [];
  let byName = new Map<string, PrintedTest>();
  let current: PrintedTest | undefined;
  const reset = () => {
    tests = [];
    byName = new Map();
    current = undefined;
  };
  const begin = (test: string, path: string, isPart: boolean): PrintedTest => {
    const name = path === test || path.endsWith(`.${test}`) ? path : `${path}.${test}`;
    const parent = isPart ? byName.get(name) : undefined;
    if (parent !== undefined) return parent;
    const added = { names: [name], skipped: false };
    tests.push(added);
    byName.set(name, added);
    return added;
  };
  return {
    runner: 'unittest',
    advice: 'add `-v`',
    sum: SUM,
    tests: () => tests,
    reset,
    read(line) {
      // The failures follow, each with its name again.
      if (/^={70}$/.test(line)) current = undefined;
      const [, indent = '', test, path = '', rest = ''] = HEAD.exec(line) ?? [];
      if (test !== undefined) current = begin(test, path, indent !== '');
      const outcome = OUTCOMES.exec(test === undefined ? line : rest)?.[1];
      if (current === undefined || outcome === undefined) return undefined;
      current.skipped = /^(?:skipped|expected|unexpected)/.test(outcome);
      Object.assign(current, failedIf(/^(?:FAIL|ERROR)$/.test(outcome)));
      current = undefined;
      return undefined;
    },
  };
}
