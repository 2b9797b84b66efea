import { Parser } from 'htmlparser2';
import type { CollectedTests, TestCase } from './collect-tests.ts';

/** Also the tags in lines of a log that are never closed count. The time of the parser grows with the square of the depth. */
const MAX_DEPTH = 1_000;

/** Reads JUnit XML, also if it is cut off. A DTD in the untrusted file has no effect: only the entities of XML itself count. */
export function readJunit(text: string, tests: CollectedTests): boolean {
  const start = text.search(/<testsuites?[\s>/]/);
  if (start < 0) return false;
  let current: TestCase | undefined;
  let depth = 0;
  let suites = 0;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        depth++;
        if (isSuite(name)) suites++;
        if (depth > MAX_DEPTH || (name === 'testcase' && tests.isFull())) parser.pause();
        else if (name === 'testcase') current = addCase(attributes, tests);
        else if (current !== undefined && (name === 'skipped' || name === 'disabled')) current.skipped = true;
        else if (current !== undefined && (name === 'failure' || name === 'error')) current.failed = true;
      },
      onclosetag(name) {
        depth--;
        if (isSuite(name)) suites--;
        if (name === 'testcase') current = undefined;
      },
    },
    { xmlMode: true },
  );
  parser.write(text.slice(start));
  if (suites > 0 && !tests.isFull()) tests.miss('a JUnit report is cut off');
  return true;
}

function isSuite(name: string): boolean {
  return name === 'testsuite' || name === 'testsuites';
}

function addCase(
  { classname: suite = '', name = '', ...attributes }: Record<string, string>,
  tests: CollectedTests,
): TestCase {
  const asserts = Number(attributes['assertions'] ?? NaN);
  return tests.add(suite === '' || name.startsWith(suite) ? [name] : [suite, name], {
    skipped: /^(?:skipped|disabled|notrun)$/i.test(attributes['status'] ?? ''),
    ...(Number.isInteger(asserts) ? { asserts } : {}),
  });
}
