import { z } from 'zod';
import type { TestCase } from '../test-case.ts';

const Report = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(
        z.object({
          title: z.string(),
          ancestorTitles: z.array(z.string()).default([]),
          status: z.string(),
          numPassingAsserts: z.number().nullish(),
        }),
      ),
    }),
  ),
});

const RAN = ['passed', 'failed'];

/** The JSON report of jest and vitest, alone or on a line of its own among other output. */
export function readJestJson(text: string): TestCase[] | undefined {
  if (!text.includes('"assertionResults"') && !text.includes('"testResults"')) return undefined;
  const start = text.search(/^\{/m);
  if (start < 0) return undefined;
  const whole = text.slice(start);
  const report = [whole, whole.slice(0, whole.lastIndexOf('}') + 1), ...whole.split('\n').filter(isObject)]
    .map(parse)
    .find((found) => found !== undefined);
  const tests = report?.testResults.flatMap(({ assertionResults }) => assertionResults);
  // Vitest writes a count that it does not keep: zero everywhere says nothing.
  const counted = tests?.some(({ numPassingAsserts }) => (numPassingAsserts ?? 0) > 0) === true;
  return tests?.map(({ title, ancestorTitles, status, numPassingAsserts }) => ({
    name: [...ancestorTitles.filter((each) => each !== ''), title].join(' > '),
    skipped: !RAN.includes(status),
    ...(counted && typeof numPassingAsserts === 'number' ? { asserts: numPassingAsserts } : {}),
  }));
}

function isObject(line: string): boolean {
  return line.startsWith('{') && line.trimEnd().endsWith('}');
}

function parse(text: string): z.infer<typeof Report> | undefined {
  try {
    return Report.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
