import type { FileProblem } from '../core/failure/errors.ts';
import { toOneLine } from '../lib/one-line.ts';

/** Where something stands in a PRD file: `where` for people (`userStories[2].size`), `offset` in characters. */
export interface Place {
  where: string;
  offset: number;
}

/** A broken rule: the file is refused. */
export interface Problem extends Place {
  rule: string;
}

/** Something that was normalised or ignored. `story` names the story; undefined: it concerns the whole file. */
export interface Warning {
  story: string | undefined;
  text: string;
}

/** What reading a file has turned up so far; readers append. */
export interface Findings {
  problems: Problem[];
  warnings: Warning[];
}

const MOST_SHOWN = 10;
const MOST_LISTED = 200;
const MOST_NAMED = 3;

/** All problems as data, in the order of the file. */
export function listProblems(problems: Problem[], lineOf: (offset: number) => number): FileProblem[] {
  const inOrder = [...problems].sort((a, b) => a.offset - b.offset).slice(0, MOST_LISTED);
  return inOrder.map(({ offset, where, rule }) => ({ line: lineOf(offset), where, rule: toOneLine(rule) }));
}

/** Problems as lines `path:line: where: rule`, in the order of the file; the first ten and how many more there are. */
export function describeProblems(problems: Problem[], path: string, lineOf: (offset: number) => number): string {
  const inOrder = [...problems].sort((a, b) => a.offset - b.offset);
  const lines = inOrder.slice(0, MOST_SHOWN).map(({ offset, where, rule }) => {
    return toOneLine(`${path}:${lineOf(offset)}: ${where === '' ? '' : `${where}: `}${rule}`);
  });
  const more = problems.length - lines.length;
  if (more > 0) lines.push(`and ${more} more ${more === 1 ? 'problem' : 'problems'}`);
  return lines.join('\n');
}

/** Warnings as sentences; one that many stories share is said once. */
export function describeWarnings(warnings: Warning[]): string[] {
  const storiesByText = new Map<string, string[]>();
  for (const { story, text } of warnings) {
    const stories = storiesByText.get(text) ?? [];
    if (story !== undefined) stories.push(story);
    storiesByText.set(text, stories);
  }
  return [...storiesByText].map(([text, stories]) => {
    return toOneLine(stories.length === 0 ? text : `${listSome(stories)}: ${text}`);
  });
}

function listSome(stories: string[]): string {
  const named = stories.slice(0, MOST_NAMED).join(', ');
  const more = stories.length - MOST_NAMED;
  return more > 0 ? `${named} and ${more} more` : named;
}
