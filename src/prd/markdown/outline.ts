import type { Line } from './line.ts';

/** A heading with the lines below it, up to the next heading of any level. */
export interface OutlineSection {
  /** Undefined: what stands above the first heading. */
  heading: Line | undefined;
  /** The section around it. */
  parent: OutlineSection | undefined;
  /** Whether it is the title of the file: it says nothing of what is below it alone. */
  isTitle: boolean;
  lines: Line[];
}

/** The sections of a file in order; the first one has no heading. */
export function outlineOf(lines: Line[]): OutlineSection[] {
  const tops = lines.filter(({ kind, level }) => kind === 'heading' && level === 1);
  const title = tops.length === 1 ? tops[0] : undefined;
  const sections: OutlineSection[] = [{ heading: undefined, parent: undefined, isTitle: false, lines: [] }];
  for (const line of lines) {
    let last = sections.at(-1);
    if (line.kind !== 'heading') {
      last?.lines.push(line);
      continue;
    }
    while (last !== undefined && (last.heading === undefined || last.heading.level >= line.level)) last = last.parent;
    sections.push({ heading: line, parent: last, isTitle: line === title, lines: [] });
  }
  return sections;
}

/** A section and those around it, the inner ones first. */
export function chainOf(section: OutlineSection): OutlineSection[] {
  const chain: OutlineSection[] = [];
  for (let at: OutlineSection | undefined = section; at !== undefined; at = at.parent) chain.push(at);
  return chain;
}

/** Most characters of a heading that are looked at. */
const LONGEST = 300;

/** The headings above the lines of a section, the nearest one first and without the title of the file. */
export function headingsOf(section: OutlineSection): string[] {
  return chainOf(section).flatMap(({ heading, isTitle }) =>
    heading === undefined || isTitle ? [] : [heading.text.slice(0, LONGEST)],
  );
}

/** The headings above a story as one name, the outer ones first; undefined: there are none. */
export function groupOf(headings: readonly string[]): string | undefined {
  return headings.length === 0 ? undefined : [...headings].reverse().join(' › ');
}
