import { failedIf, MAX_SUITE_DEPTH, type CollectedTests } from './collect-tests.ts';

const RAN = ['passed', 'failed'];

interface Assertion {
  title: string;
  file: string | undefined;
  ancestors: string[];
  status: string;
  asserts: number | undefined;
}

/** Reads the JSON reports of jest and vitest, alone or among other output. */
export function readJestJson(text: string, tests: CollectedTests): boolean {
  if (!text.includes('"assertionResults"') && !text.includes('"testResults"')) return false;
  const reports = findReports(text);
  for (const { results, counted, total } of reports) {
    let named = 0;
    for (const { title, file, ancestors, status, asserts } of assertionsOf(results)) {
      if (tests.isFull()) return true;
      named += 1;
      tests.add([...ancestors, title], {
        skipped: !RAN.includes(status),
        ...failedIf(status === 'failed'),
        ...(file !== undefined ? { file } : {}),
        ...(counted && asserts !== undefined ? { asserts } : {}),
      });
    }
    if (named < total) tests.miss(`the JSON report counts ${total} tests, of which ${named} could be read`);
  }
  if (reports.length === 0) tests.miss('the JSON report of jest or vitest is cut off or not valid');
  return true;
}

/** `counted`: the assertions are counted, as jest does; versions of vitest report zero for every test. */
interface JsonReport {
  results: unknown[];
  counted: boolean;
  total: number;
}

function findReports(text: string): JsonReport[] {
  const start = text.search(/^\{/m);
  if (start < 0) return [];
  const whole = toReport(text.slice(start)) ?? toReport(text.slice(start, text.lastIndexOf('}') + 1));
  return whole === undefined ? [...documentsIn(text.slice(start))].flatMap((each) => toReport(each) ?? []) : [whole];
}

function toReport(text: string): JsonReport | undefined {
  const report = parse(text);
  const results = fieldOf(report, 'testResults');
  if (!Array.isArray(results)) return undefined;
  const isOfJest = typeof fieldOf(report, 'numRuntimeErrorTestSuites') === 'number';
  const total = fieldOf(report, 'numTotalTests');
  return { results, counted: isOfJest || hasCounts(results), total: typeof total === 'number' ? total : 0 };
}

/** Lines with a whole object, and the lines from `{` to `}`. */
function* documentsIn(text: string): Generator<string> {
  let open: string[] | undefined;
  for (const line of text.split('\n')) {
    if (line.startsWith('{') && line.trimEnd().endsWith('}')) yield line;
    if (line.trimEnd() === '{') open = [];
    open?.push(line);
    if (open !== undefined && line.trimEnd() === '}') {
      yield open.join('\n');
      open = undefined;
    }
  }
}

function hasCounts(results: readonly unknown[]): boolean {
  for (const { asserts } of assertionsOf(results)) if (asserts !== undefined && asserts > 0) return true;
  return false;
}

/** Validated without a schema, which would create an issue for each of possibly millions of invalid members. */
function* assertionsOf(results: readonly unknown[]): Generator<Assertion> {
  for (const result of results) {
    const assertions = fieldOf(result, 'assertionResults');
    if (!Array.isArray(assertions)) continue;
    const [name, outcome] = ['name', 'status'].map((key) => fieldOf(result, key));
    const file = typeof name === 'string' ? name : undefined;
    // A file that could not be loaded is reported without tests: it counts as a failed one, as in other formats.
    if (assertions.length === 0 && outcome === 'failed' && file !== undefined)
      yield { title: file, file, status: outcome, ancestors: [], asserts: undefined };
    for (const each of assertions as unknown[]) {
      const [title, status, around, asserts] = ['title', 'status', 'ancestorTitles', 'numPassingAsserts'].map((key) =>
        fieldOf(each, key),
      );
      if (typeof title !== 'string' || typeof status !== 'string') continue;
      yield {
        title,
        file,
        // The result of `test.failing` of jest is the opposite of what the test found.
        status: fieldOf(each, 'failing') === true ? 'failing' : status,
        ancestors: titlesIn(around),
        asserts: typeof asserts === 'number' ? asserts : undefined,
      };
    }
  }
}

function titlesIn(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MAX_SUITE_DEPTH).filter((each): each is string => typeof each === 'string' && each !== '');
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
