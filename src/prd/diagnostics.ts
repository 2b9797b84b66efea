import type { FileProblem } from '../core/failure/errors.ts';
import { defined } from '../lib/guards.ts';
import { oneLine, listSome } from '../lib/text.ts';

/**
 * A location in a PRD: `where` for messages (`userStories[2].size`), `offset` in characters; `file`: the name of the file, if
 * the PRD is a folder.
 */
export interface SourceLocation {
  where: string;
  offset: number;
  file?: string;
}

/** A location without the other fields of a value that has one. */
export function locationOf({ where, offset, file }: SourceLocation): SourceLocation {
  return { where, offset, ...defined({ file }) };
}

/** Path and line of a location. `order`: that of its file. */
export interface Place {
  path: string;
  line: number;
  order: number;
}

type PlaceOf = (at: SourceLocation) => Place;

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
export function listProblems(problems: PrdProblem[], placeOf: PlaceOf): FileProblem[] {
  return inOrder(problems, placeOf)
    .slice(0, MAX_LISTED)
    .map(({ problem: { file, where, rule }, place }) => ({
      ...defined({ file }),
      line: place.line,
      where,
      rule: oneLine(rule),
    }));
}

/**
 * Formats the first ten problems as lines `path:line: where: rule` in file order, followed by the number of
 * others. Like the findings of a compiler, they have no full stop.
 */
export function describeProblems(problems: PrdProblem[], placeOf: PlaceOf): string {
  const lines = inOrder(problems, placeOf)
    .slice(0, MAX_SHOWN)
    .map(({ problem: { where, rule }, place: { path, line } }) =>
      oneLine(`${path}:${line}: ${where === '' ? '' : `${where}: `}${rule}`),
    );
  const more = problems.length - lines.length;
  if (more > 0) lines.push(`and ${more} more ${more === 1 ? 'problem' : 'problems'}`);
  return lines.join('\n');
}

function inOrder(problems: PrdProblem[], placeOf: PlaceOf): { problem: PrdProblem; place: Place }[] {
  return problems
    .map((problem) => ({ problem, place: placeOf(problem) }))
    .sort((a, b) => a.place.order - b.place.order || a.problem.offset - b.problem.offset);
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
