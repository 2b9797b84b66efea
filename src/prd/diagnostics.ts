import type { FileProblem } from '../core/failure/errors.ts';
import { oneLine, listSome } from '../lib/text.ts';

/** A location in a PRD file: `where` for messages (`userStories[2].size`), `offset` in characters. */
export interface SourceLocation {
  where: string;
  offset: number;
}

/** A violated rule. Any problem makes the file invalid. */
interface PrdProblem extends SourceLocation {
  rule: string;
}

/** Something that was normalised or ignored, without the full stop. */
export interface Remark {
  text: string;
  /** The lines that it is about; it is printed with the first of them. `ticked`: how many of them are ticked checkboxes. */
  lines?: { numbers: readonly number[]; ticked?: number } | undefined;
}

/** `story` is the id of the story; undefined: the whole file. */
export interface PrdWarning extends Remark {
  story: string | undefined;
}

/** Problems and warnings collected while reading a file; readers append to both lists. */
export interface Diagnostics {
  problems: PrdProblem[];
  warnings: PrdWarning[];
}

const MAX_SHOWN = 10;
const MAX_LISTED = 200;
const MAX_NAMED = 3;

/** Returns the problems as data, in file order, up to 200. */
export function listProblems(problems: PrdProblem[], lineOf: (offset: number) => number): FileProblem[] {
  const inOrder = [...problems].sort((a, b) => a.offset - b.offset).slice(0, MAX_LISTED);
  return inOrder.map(({ offset, where, rule }) => ({ line: lineOf(offset), where, rule: oneLine(rule) }));
}

/**
 * Formats the first ten problems as lines `path:line: where: rule` in file order, followed by the number of
 * others. Like the findings of a compiler, they have no full stop.
 */
export function describeProblems(problems: PrdProblem[], path: string, lineOf: (offset: number) => number): string {
  const inOrder = [...problems].sort((a, b) => a.offset - b.offset);
  const lines = inOrder.slice(0, MAX_SHOWN).map(({ offset, where, rule }) => {
    return oneLine(`${path}:${lineOf(offset)}: ${where === '' ? '' : `${where}: `}${rule}`);
  });
  const more = problems.length - lines.length;
  if (more > 0) lines.push(`and ${more} more ${more === 1 ? 'problem' : 'problems'}`);
  return lines.join('\n');
}

/** Formats warnings as sentences. Stories with the same warning share one sentence. */
export function describeWarnings(warnings: PrdWarning[]): string[] {
  const storiesByText = new Map<string, string[]>();
  for (const { story, ...remark } of warnings) {
    const text = describeRemark(remark);
    const stories = storiesByText.get(text) ?? [];
    if (story !== undefined) stories.push(story);
    storiesByText.set(text, stories);
  }
  return [...storiesByText].map(([text, stories]) => {
    return oneLine(stories.length === 0 ? text : `${listSome(stories, MAX_NAMED)}: ${text}`);
  });
}

function describeRemark({ text, lines }: Remark): string {
  if (lines === undefined) return text;
  const { numbers, ticked = 0 } = lines;
  const named = `${text}: line ${listSome([...numbers], MAX_LINES)}`;
  return ticked === 0 ? named : `${named} (${ticked} of ${numbers.length} ticked)`;
}

const MAX_LINES = 5;

/** Limit for the number of stories of a PRD, in any dialect. */
export const MAX_STORIES = 5000;

/** True if `count` exceeds the story limit; adds a problem for the file in that case. */
export function exceedsStoryLimit(count: number, diagnostics: Diagnostics): boolean {
  if (count <= MAX_STORIES) return false;
  const rule = `${count} stories; the limit is ${MAX_STORIES}; split it into several PRDs`;
  diagnostics.problems.push({ where: '', offset: 0, rule });
  return true;
}
