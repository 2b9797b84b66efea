import { addProblem, nameKind, take, type MemberReader } from '../json/object-reader.ts';

const WORDS = [
  ['critical', 'p0', 'highest', 'urgent', 'blocker'],
  ['high', 'p1'],
  ['medium', 'normal', 'p2'],
  ['low', 'p3'],
];

/** The priority of a story, lower first; undefined when it has none that can be read. */
export function readPriority(reader: MemberReader, story: string): number | undefined {
  const member = take(reader, 'priority');
  if (member === undefined) return undefined;
  const { value } = member;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value !== 'string') {
    addProblem(reader, member, `must be a number, not ${member.kind === 'number' ? 'infinite' : nameKind(member)}`);
    return undefined;
  }
  const word = value.trim().toLowerCase();
  if (/^-?\d+(\.\d+)?$/.test(word)) return Number(word);
  const rank = rankOfWord(word);
  if (rank !== undefined) return rank;
  reader.findings.warnings.push({ story, text: `unknown priority "${value}", so it runs after all others` });
  return undefined;
}

/** The priority that a word means, `critical` being 0; undefined when it is none that is known. */
export function rankOfWord(word: string): number | undefined {
  const rank = WORDS.findIndex((words) => words.includes(word.trim().toLowerCase()));
  return rank < 0 ? undefined : rank;
}
