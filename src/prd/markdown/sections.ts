import { rankOfWord } from '../story/read-priority.ts';

/** The headings above a line, the nearest one first and without the title of the file. */
export type Headings = readonly string[];

/** The priority that the nearest heading with one gives. */
export function priorityOf(headings: Headings): number | undefined {
  for (const heading of headings) {
    const priority = priorityIn(heading);
    if (priority !== undefined) return priority;
  }
  return undefined;
}

const WORD = '(critical|highest|urgent|high|medium|normal|low)';
/** Words count where they are about a priority, or all that the heading says: "High availability" is none. */
const PRIORITY_WORDS = [
  new RegExp(`\\b${WORD}[\\s-]{1,3}priority\\b`, 'i'),
  new RegExp(`\\bpriority\\s{0,3}[:=–—-]?\\s{0,3}${WORD}\\b`, 'i'),
  new RegExp(`\\(${WORD}\\)`, 'i'),
  new RegExp(`^${WORD}(?:\\s(?:tasks|items|issues|bugs|stories|features))?$`, 'i'),
  /\b(p[0-3])\b(?!-)/i,
];

function priorityIn(heading: string): number | undefined {
  const number = /\bpriority:?\s{0,9}(\d{1,6}(?:\.\d{1,6})?)\b/i.exec(heading)?.[1];
  if (number !== undefined) return Number(number);
  const texts = [heading, nameOf(heading)];
  const word = PRIORITY_WORDS.flatMap((rule) => texts.map((text) => rule.exec(text)?.[1])).find((each) => each);
  return word === undefined ? undefined : rankOfWord(word);
}

const WORK = '(?:work|tasks|items|stories|features|ideas|enhancements?|improvements?|considerations?|scope|plans)';
const ASIDE = new RegExp(
  `^(?:(?:optional|future|deferred|postponed|dropped|cancell?ed)(?: ${WORK})?|nice[ -]to[ -]haves?|out[ -]of[ -]scope|` +
    `not in scope|non-?goals?|later|someday(?:[ /]maybe)?|icebox|parking lot|won'?t do)$`,
);

/** The heading that sets its stories aside; it says nothing but that. */
export function asideHeading(headings: Headings): string | undefined {
  return headings.find((heading) => ASIDE.test(nameOf(heading).toLowerCase()));
}

export function isExample(headings: Headings): boolean {
  return headings.some((heading) => {
    const name = nameOf(heading).toLowerCase();
    return (
      /^(?:for )?examples?(?: (?:format|tasks?|story|stories|items?|entry|entries|usage))?$/.test(name) ||
      /^example\s?[:–—-]/i.test(heading)
    );
  });
}

/** A heading without numbers and signs around it, and without what stands in brackets behind it. */
function nameOf(heading: string): string {
  return heading
    .replace(/^[^\p{L}\p{N}]+/u, '')
    .replace(/^(?:\d{1,4}[.):]|(?:phase|part|section) \d{1,4}\s?[:.–—-])\s*/i, '')
    .replace(/\([^()]{0,200}\)\s*$/, '')
    .replace(/^[^\p{L}\p{N}]+|(?<![^\p{L}\p{N}])[^\p{L}\p{N}]+$/gu, '');
}
