import { safeLine } from './safe-text.ts';

/**
 * The end of a message that refuses a word of a list: `; did you mean "x"?` with the closest of the known words, or
 * nothing if none is close. Words that are not texts have none.
 */
export function didYouMean(word: unknown, known: Iterable<string>): string {
  const meant = typeof word === 'string' ? findClosest(word, known) : undefined;
  return meant === undefined ? '' : `; did you mean "${safeLine(meant, 100)}"?`;
}

/** The same for a sentence, which ends with a full stop if no known word is close. */
export function closeSentence(word: unknown, known: Iterable<string>): string {
  return didYouMean(word, known) || '.';
}

/** For zod: the message for a word that is none of a list; undefined for other issues, whose message stays. */
export function explainChoice(issue: { code?: string; values?: unknown; input?: unknown }): string | undefined {
  if (issue.code !== 'invalid_value' || !Array.isArray(issue.values) || issue.values.length < 2) return undefined;
  const known = issue.values.map(String);
  return `must be one of ${known.join(', ')}${didYouMean(issue.input, known)}`;
}

/** For zod: the message for a key that a table does not have; undefined for other issues. */
export function explainUnknownKey(
  issue: { code?: string; keys?: unknown },
  known: Iterable<string>,
): string | undefined {
  if (issue.code !== 'unrecognized_keys' || !Array.isArray(issue.keys)) return undefined;
  const key = String(issue.keys[0]);
  return `unknown key "${safeLine(key, 100)}"${didYouMean(key, known)}`;
}

/** Longer texts are not misspelt words. */
const MAX_CLOSEST_LENGTH = 200;

/** Finds the candidate with the smallest edit distance to `word`; undefined if none is close. */
export function findClosest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > MAX_CLOSEST_LENGTH) return undefined;
  const wanted = word.toLowerCase();
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    if (candidate.length > MAX_CLOSEST_LENGTH) continue;
    const distance = countEdits(wanted, candidate.toLowerCase());
    if (best === undefined || distance < best.distance) best = { candidate, distance };
  }
  const most = Math.max(1, Math.floor(wanted.length / 3));
  return best !== undefined && best.distance <= most ? best.candidate : undefined;
}

/** Edit distance in which a transposition of two neighbours is one edit (optimal string alignment). */
function countEdits(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let edits = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        edits = Math.min(edits, at(beforeLast, column - 2) + 1);
      }
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(numbers: number[], index: number): number {
  return numbers[index] ?? Infinity;
}
