import { rankOfWord } from '../read-priority.ts';
import type { Line } from './line.ts';

/** The headings above a line, the nearest one first. */
export type Section = readonly string[];

/** Most characters of a heading that are looked at. */
const LONGEST = 300;

/** Follows the headings of a file from line to line. */
export function trackSections(): { enter(heading: Line): void; current(): Section } {
  const stack: { level: number; text: string }[] = [];
  return {
    enter({ level, text }) {
      while ((stack.at(-1)?.level ?? 0) >= level) stack.pop();
      stack.push({ level, text: text.slice(0, LONGEST) });
    },
    current: () => stack.map(({ text }) => text).reverse(),
  };
}

/** The priority that the nearest heading with one gives. */
export function priorityOf(section: Section): number | undefined {
  for (const heading of section) {
    const priority = priorityIn(heading);
    if (priority !== undefined) return priority;
  }
  return undefined;
}

function priorityIn(heading: string): number | undefined {
  const number = /\bpriority:?\s{0,9}(\d{1,6}(?:\.\d{1,6})?)\b/i.exec(heading)?.[1];
  if (number !== undefined) return Number(number);
  const word = /\b(critical|high|medium|low|p[0-3])\b(?!-)/i.exec(heading)?.[1];
  return word === undefined ? undefined : rankOfWord(word);
}

/** Whether a heading sets its stories aside. */
export function isSetAside(section: Section): boolean {
  return section.some((heading) => /\b(optional|future|nice[- ]to[- ]haves?|deferred|out of scope)\b/i.test(heading));
}

export function isExample(section: Section): boolean {
  return section.some((heading) => /\bexamples?\b/i.test(heading));
}
