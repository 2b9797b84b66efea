/** A heading of the form `## Text`; the signs are its level. */
const HEADING = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * The section of a Markdown text with this heading, up to the next heading of the same or a higher level; undefined: no
 * such heading. Case, white space and closing signs of headings are ignored; headings in fenced code are text.
 */
export function findHeadingSection(text: string, heading: string): string | undefined {
  const wanted = normalize(heading);
  const lines = text.split('\n');
  let start: number | undefined;
  let level = 0;
  let fence: string | undefined;
  for (const [index, line] of lines.entries()) {
    const ticks = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      if (ticks?.startsWith(fence) === true) fence = undefined;
      continue;
    }
    fence = ticks;
    const [, signs = '', title = ''] = (ticks === undefined ? HEADING.exec(line) : null) ?? [];
    if (signs === '') continue;
    if (start !== undefined && signs.length <= level) return lines.slice(start, index).join('\n').trim();
    if (start === undefined && normalize(title) === wanted) [start, level] = [index, signs.length];
  }
  return start === undefined ? undefined : lines.slice(start).join('\n').trim();
}

function normalize(heading: string): string {
  const words = heading.trim().split(/\s+/);
  if (/^#+$/.test(words.at(-1) ?? '')) words.pop();
  return words.join(' ').toLowerCase();
}
