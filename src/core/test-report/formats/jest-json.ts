import { failedIf, MAX_SUITE_DEPTH, type CollectedTests } from './collect-tests.ts';

const RAN = ['passed', 'failed'];

interface Assertion {
  title: string;
  file: string | undefined;
  ancestors: string[];
  status: string;
  asserts: number | undefined;
}

/** Reads the JSON report of jest and vitest, alone or on its own line among other output. */
export function readJestJson(text: string, tests: CollectedTests): boolean {
  if (!text.includes('"assertionResults"') && !text.includes('"testResults"')) return false;
  const report = findReport(text);
  if (report === undefined) return false;
  const { results, counted } = report;
  for (const { title, file, ancestors, status, asserts } of assertionsOf(results)) {
    if (tests.isFull()) break;
    tests.add([...ancestors, title], {
      skipped: !RAN.includes(status),
      ...failedIf(status === 'failed'),
      ...(file !== undefined ? { file } : {}),
      ...(counted && asserts !== undefined ? { asserts } : {}),
    });
  }
  return true;
}

/**
 * Returns `testResults` of the first report in the text. `counted`: its assertions are counted, as jest does; versions of
 * vitest report zero for every test.
 */
function findReport(text: string): { results: unknown[]; counted: boolean } | undefined {
  const start = text.search(/^\{/m);
  if (start < 0) return undefined;
  const whole = text.slice(start);
  for (const candidate of candidatesIn(whole)) {
    const report = parse(candidate);
    const results = fieldOf(report, 'testResults');
    if (!Array.isArray(results)) continue;
    const isOfJest = typeof fieldOf(report, 'numRuntimeErrorTestSuites') === 'number';
    return { results, counted: isOfJest || hasCounts(results) };
  }
  return undefined;
}

function hasCounts(results: readonly unknown[]): boolean {
  for (const { asserts } of assertionsOf(results)) if (asserts !== undefined && asserts > 0) return true;
  return false;
}

function* candidatesIn(text: string): Generator<string> {
  yield text;
  yield text.slice(0, text.lastIndexOf('}') + 1);
  for (const line of text.split('\n')) if (line.startsWith('{') && line.trimEnd().endsWith('}')) yield line;
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
