import type { Prd, Story } from './prd.ts';

/** The values of `tests.first`, from least to most strict. */
export const TESTS_FIRST_MODES = ['off', 'report', 'on'] as const;
type TestsFirstMode = (typeof TESTS_FIRST_MODES)[number];

type StoryFields = Pick<Story, 'extra'>;
type PrdFields = Pick<Prd, 'context' | 'description'>;

/** In the introduction of a Markdown file. */
const LINE = /^[*_ ]{0,4}tests first[*_ ]{0,4}:[*_ ]{0,4}(on|off|report)[*_ ]{0,4}$/im;

/**
 * Whether a story begins with its tests: as its field `testsFirst` says, else that of the PRD, but never less strict than
 * the configuration. Other people may have written the PRD.
 */
export function resolveTestsFirst(configured: TestsFirstMode, story: StoryFields, prd: PrdFields): TestsFirstMode {
  const wanted = fieldOf(story.extra) ?? fieldOfPrd(prd) ?? configured;
  return strictness(wanted) > strictness(configured) ? wanted : configured;
}

/** Whether a value of `testsFirst` is one of the modes, or a boolean. */
export function isTestsFirstValue(value: unknown): boolean {
  return toMode(value) !== undefined;
}

/** Whether a key or label is a spelling of `testsFirst`, such as `tests_first` or `Tests first`. */
export function isTestsFirstKey(key: string): boolean {
  return key.length < 40 && key.toLowerCase().replace(/[\s_-]+/g, '') === 'testsfirst';
}

function fieldOf(extra: Record<string, unknown>): TestsFirstMode | undefined {
  return toMode(Object.entries(extra).find(([key]) => isTestsFirstKey(key))?.[1]);
}

function fieldOfPrd({ context, description }: PrdFields): TestsFirstMode | undefined {
  const field = context.find(({ label, stories }) => stories === undefined && isTestsFirstKey(label));
  return toMode(field?.text ?? LINE.exec(description)?.[1]);
}

function toMode(value: unknown): TestsFirstMode | undefined {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if (word === true || word === 'true' || word === 'yes') return 'on';
  if (word === false || word === 'false' || word === 'no') return 'off';
  return TESTS_FIRST_MODES.find((mode) => mode === word);
}

function strictness(mode: TestsFirstMode): number {
  return TESTS_FIRST_MODES.indexOf(mode);
}
