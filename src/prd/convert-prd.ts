import { HaloError, toHaloError } from '../core/failure/errors.ts';
import { TEXT_FIELD_NAMES } from '../core/prd/fields.ts';
import type { Prd, Story } from '../core/prd/prd.ts';
import { replaceHidden, formatCodePoint } from '../core/text/hidden-characters.ts';
import { escapeJson } from '../core/text/safe-text.ts';
import { sortStories } from '../core/run/story-order.ts';
import type { Dialect } from './dialect.ts';
import { describeWarnings, type PrdWarning } from './diagnostics.ts';
import { parsePrd, readPrdFile } from './parse-prd.ts';
import { DIALECTS, type DialectId } from './dialect-registry.ts';

export interface ConvertedPrd {
  from: string;
  text: string;
  /** What was normalised while reading the file, one sentence each. */
  warnings: string[];
  /** What the new file lost or changed, one sentence each. */
  lost: string[];
}

/**
 * Converts a PRD to another dialect, parses the result and lists the differences.
 * Throws PRD_INVALID if the file cannot be parsed or the dialect cannot represent it.
 */
export function convertPrd(bytes: Uint8Array, path: string, to: DialectId): ConvertedPrd {
  const prd = parsePrd(bytes, path);
  const text = writeAs(prd, to);
  const bytesWritten = new TextEncoder().encode(text);
  const written = readAgain(() => readPrdFile(bytesWritten, to, { as: to }).prd, { path, to });
  if (written.stories.length !== prd.stories.length) throw notWritable({ path, to }, 'stories would be lost.');
  const { dialect } = readAgain(() => parsePrd(bytesWritten, to), { path, to });
  if (dialect !== to && to !== 'daedalus') throw notWritable({ path, to }, `it would be detected as ${dialect}.`);
  return { from: prd.dialect, text, warnings: prd.warnings, lost: describeWarnings(findLosses(prd, written)) };
}

/** The new file, safe to print: control characters are escaped in JSON and spelled out in Markdown. */
function writeAs(prd: Prd, to: DialectId): string {
  const dialect: Dialect = DIALECTS[to];
  if (dialect.format === 'json') return escapeJson(dialect.write(prd));
  return replaceHidden(dialect.write(prd), (character) =>
    /[\p{Cc}\p{Zl}\p{Zp}]/u.test(character) ? formatCodePoint(character) : character,
  );
}

function readAgain(read: () => Prd, { path, to }: { path: string; to: DialectId }): Prd {
  try {
    return read();
  } catch (error) {
    throw notWritable({ path, to }, toHaloError(error).message, error);
  }
}

function notWritable({ path, to }: { path: string; to: DialectId }, why: string, cause?: unknown): HaloError {
  return new HaloError('PRD_INVALID', `${path}: The PRD cannot be written as ${to}: ${why}`, {
    hint: 'Change the PRD so that the dialect can represent it, or choose another dialect.',
    cause,
  });
}

/** Both files run their stories in the same order, so stories are compared pairwise. */
function findLosses(before: Prd, after: Prd): PrdWarning[] {
  const olds = pairUp(before.stories);
  const news = pairUp(after.stories);
  const losses: PrdWarning[] = [];
  for (const key of ['project', 'description'] as const) {
    if (before[key] === after[key]) continue;
    losses.push({ story: undefined, text: `the ${key} of the PRD is ${after[key] === '' ? 'not kept' : 'changed'}` });
  }
  const dropped = findMissing(labelsOf(before), labelsOf(after));
  if (dropped.length > 0)
    losses.push({ story: undefined, text: `these fields of the PRD are not kept: ${dropped.join(', ')}` });
  const ids = new Map(olds.map(({ id }, index) => [news[index]?.id ?? '', id]));
  for (const [index, old] of olds.entries()) {
    const fresh = news[index];
    if (fresh !== undefined) losses.push(...compare(old, fresh, ids));
  }
  return losses;
}

/** The names that are not kept; a dialect may write them in lower case. */
function findMissing(before: string[], after: string[]): string[] {
  const kept = new Set(after.map((name) => name.toLowerCase()));
  return before.filter((name) => !kept.has(name.toLowerCase()));
}

function labelsOf({ context }: Prd): string[] {
  return context.map(({ label }) => label);
}

/** A dialect may move skipped and done stories to the end. */
function pairUp(stories: Story[]): Story[] {
  const rank = ({ status }: Story) => (status === 'done' ? 2 : status === 'skipped' ? 1 : 0);
  return [...sortStories(stories)].sort((a, b) => rank(a) - rank(b));
}

function compare(old: Story, fresh: Story, ids: Map<string, string>): PrdWarning[] {
  const losses: PrdWarning[] = [];
  const add = (text: string) => void losses.push({ story: old.id, text });
  if (fresh.id !== old.id) add(`the id is now ${fresh.id}`);
  for (const key of ['title', 'description', 'status', ...TEXT_FIELD_NAMES, 'priority'] as const) {
    if (fresh[key] !== old[key]) add(`the ${key} is ${isEmpty(fresh[key]) ? 'not kept' : 'changed'}`);
  }
  if (!isEqual(fresh.acceptance, old.acceptance)) add('the acceptance criteria are changed');
  const needed = fresh.dependsOn.map((id) => ids.get(id) ?? id);
  if (!isEqual([...needed].sort(), [...old.dependsOn].sort())) add('the dependencies are changed');
  const dropped = findMissing(Object.keys(old.extra), Object.keys(fresh.extra));
  if (dropped.length > 0) add(`these fields are not kept: ${dropped.join(', ')}`);
  return losses;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '';
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
