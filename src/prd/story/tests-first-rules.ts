import { isTestsFirstKey, isTestsFirstValue, TESTS_FIRST_MODES } from '../../core/prd/tests-first-field.ts';
import type { Draft } from '../dialect.ts';
import type { Diagnostics, SourceLocation } from '../diagnostics.ts';

/** Adds a problem for each field `testsFirst`, of a story or of the file, that is none of its values. */
export function addTestsFirstDiagnostics({ stories, about }: Draft, diagnostics: Diagnostics): void {
  const fields: { key: string; value: unknown; at: SourceLocation }[] = [
    ...about
      .filter(({ stories: places }) => places === undefined)
      .map(({ label, value }) => ({ key: label, value, at: { where: label, offset: 0 } })),
    ...stories.flatMap(({ extra, id, at }) =>
      Object.entries(extra).map(([key, value]) => ({ key, value, at: { ...at, where: at.where || id } })),
    ),
  ];
  for (const { key, value, at } of fields)
    if (isTestsFirstKey(key) && !isTestsFirstValue(value))
      diagnostics.problems.push({ ...at, rule: `${key} must be one of ${TESTS_FIRST_MODES.join(', ')}` });
}
