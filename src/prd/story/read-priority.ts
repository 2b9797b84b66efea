import { addProblem, describeKind, take, type MemberReader } from '../json/object-reader.ts';

const WORDS = [
  ['critical', 'p0', 'highest', 'urgent', 'blocker'],
  ['high', 'p1'],
  ['medium', 'normal', 'p2'],
  ['low', 'p3'],
];

/** Reads the priority of a story, lower first; undefined if it is missing or unknown. */
export function readPriority(reader: MemberReader, story: string): number | undefined {
  const member = take(reader, 'priority');
  if (member === undefined) return undefined;
  const { value } = member;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value !== 'string') {
    addProblem(reader, member, `must be a number, not ${member.kind === 'number' ? 'infinite' : describeKind(member)}`);
    return undefined;
  }
  const word = value.trim().toLowerCase();
  if (/^-?\d+(\.\d+)?$/.test(word)) return Number(word);
  const rank = rankOfWord(word);
  if (rank !== undefined) return rank;
  reader.diagnostics.warnings.push({ story, text: `unknown priority "${value}", so the story runs last` });
  return undefined;
}

/** Maps a priority word to its rank, `critical` is 0; undefined for an unknown word. */
export function rankOfWord(word: string): number | undefined {
  const rank = WORDS.findIndex((words) => words.includes(word.trim().toLowerCase()));
  return rank < 0 ? undefined : rank;
}
