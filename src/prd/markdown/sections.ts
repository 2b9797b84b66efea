import { oneLine } from '../../lib/text.ts';
import type { Diagnostics } from '../diagnostics.ts';
import { addWarning } from '../json/object-reader.ts';
import { rankOfWord, STRUCK } from '../story/read-fields.ts';

/** The headings above a line, nearest first, without the title of the file. */
export type Headings = readonly string[];

/** The priority of the nearest heading that has one. */
export function priorityOf(headings: Headings): number | undefined {
  for (const heading of headings) {
    const priority = priorityIn(heading);
    if (priority !== undefined) return priority;
  }
  return undefined;
}

const WORD = '(critical|highest|urgent|high|medium|normal|low)';
/** Matches words that refer to a priority or are the whole heading, but not "High availability". */
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

/** Finds a heading like "Deferred" or "Out of scope", whose stories are skipped. */
export function findSkipHeading(headings: Headings): string | undefined {
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

/** Strips numbers, symbols and a trailing parenthesis from a heading. */
function nameOf(heading: string): string {
  return heading
    .replace(/^[^\p{L}\p{N}]+/u, '')
    .replace(/^(?:\d{1,4}[.):]|(?:phase|part|section) \d{1,4}\s?[:.–—-])\s*/i, '')
    .replace(/\([^()]{0,200}\)\s*$/, '')
    .replace(/^[^\p{L}\p{N}]+|(?<![^\p{L}\p{N}])[^\p{L}\p{N}]+$/gu, '');
}

/** True if a story that is not done is skipped; adds a warning in that case. */
export function warnIfSkipped(
  { headings, isDropped }: { headings: Headings; isDropped: boolean },
  id: string,
  diagnostics: Diagnostics,
): boolean {
  const heading = findSkipHeading(headings);
  if (heading === undefined && !isDropped) return false;
  addWarning({ diagnostics }, id, isDropped ? STRUCK : `below "${oneLine(heading ?? '')}", so it is skipped`);
  return true;
}
