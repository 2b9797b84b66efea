import type { Story } from '../../core/prd/prd.ts';
import type { JsonDocument } from '../dialect.ts';
import { findStoryList } from '../json/find-list.ts';
import { parseJsonWithPositions } from '../json/json-positions.ts';
import { escapeJson } from '../../core/text/safe-text.ts';
import type { PlanChanges } from './plan-changes.ts';

/**
 * Replaces stories in a JSON list; the text of all others stays. Undefined if the stories are not in one list. `write`
 * returns a file with one story.
 */
export function replaceMembers(
  { text, found }: JsonDocument,
  { replaced, added }: PlanChanges,
  write: (story: Story) => string,
): string | undefined {
  if (found === undefined || found.list.kind !== 'array' || found.kind === 'group' || found.tags) return undefined;
  const members = found.members.map(({ at }) => at);
  const [first, last] = [members[0], members.at(-1)];
  if (first === undefined || last === undefined || found.list.items.length !== members.length) return undefined;
  const indent = /(?:^|\n)([ \t]*)$/.exec(text.slice(0, first.offset))?.[1];
  const isCompact = !text.slice(first.offset, first.end).includes('\n');
  const element = (story: Story) => memberText(write(story), isCompact ? undefined : indent);
  const kept = members.flatMap((at) => {
    const change = replaced.find(({ draft }) => draft.at.offset >= at.offset && draft.at.offset < at.end);
    if (change === undefined) return [text.slice(at.offset, at.end)];
    return change.story === undefined ? [] : [element(change.story)];
  });
  const between = indent === undefined ? ', ' : `,\n${indent}`;
  const items = [...kept, ...added.map(element)].join(between);
  return `${text.slice(0, first.offset)}${items}${text.slice(last.end)}`;
}

/** The text of the only story of a file, indented; undefined: on one line. */
function memberText(file: string, indent: string | undefined): string {
  const safe = escapeJson(file);
  const json = parseJsonWithPositions(safe, 'plan', { problems: [], warnings: [] });
  const at = findStoryList(json)?.members[0]?.at;
  if (at === undefined) throw new Error('a written story was not found');
  const value = at.value;
  if (indent === undefined) return escapeJson(JSON.stringify(value));
  return escapeJson(JSON.stringify(value, undefined, 2)).replaceAll('\n', `\n${indent}`);
}
