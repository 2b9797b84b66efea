import type { Edit } from './text-edits.ts';
import type { JsonValue } from './json-positions.ts';

/**
 * Returns the edits that set these members of an object. Existing values are replaced; new members are appended with the
 * same white space as the last one.
 */
export function setMembers(object: JsonValue, values: Record<string, unknown>, text: string): Edit[] {
  const style = styleOf(object, text);
  const replaced: Edit[] = [];
  const added: string[] = [];
  for (const [key, value] of Object.entries(values)) {
    const there = object.members.get(key);
    const json = print(value, style.space);
    if (there === undefined) added.push(`${style.space}${JSON.stringify(key)}:${style.gap}${json}`);
    else replaced.push({ from: there.offset, to: there.end, text: json });
  }
  if (added.length === 0) return replaced;
  if (style.lastEnd !== undefined)
    return [...replaced, { from: style.lastEnd, to: style.lastEnd, text: `,${added.join(',')}` }];
  return [...replaced, { from: object.offset + 1, to: object.end - 1, text: added.join(',') }];
}

interface Style {
  /** White space between comma and key. */
  space: string;
  /** White space between colon and value. */
  gap: string;
  /** Offset after the last member; undefined: the object is empty. */
  lastEnd?: number;
}

function styleOf({ members }: JsonValue, text: string): Style {
  const [first, ...others] = members.values();
  if (first === undefined) return { space: '', gap: '' };
  const last = others.reduce((a, b) => (b.end > a.end ? b : a), first);
  const key = last.keyOffset ?? last.offset;
  const before = text.slice(0, key);
  const colon = text.slice(key, last.offset);
  return {
    space: before.slice(before.trimEnd().length),
    gap: colon.slice(colon.lastIndexOf(':') + 1),
    lastEnd: last.end,
  };
}

/** Prints on several lines if the members are on separate lines. */
function print(value: unknown, space: string): string {
  if (!space.includes('\n')) return JSON.stringify(value);
  const indent = space.slice(space.lastIndexOf('\n') + 1);
  return JSON.stringify(value, null, indent.startsWith('\t') ? '\t' : '  ').replaceAll('\n', `\n${indent}`);
}
