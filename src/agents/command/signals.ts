import type { AgentAnswer } from '../../core/agent.ts';
import type { LineReader } from '../adapter.ts';
import { parseCommandLine } from './parse.ts';

const MAX_SAID = 2000;

/** `STORY_DONE: US-001`, `TESTS_GENERATED: US-001`, `BLOCKED: reason`, also as bold text or in a code span. */
const SIGNAL = /^[*`\s]{0,9}(STORY_DONE|TESTS_GENERATED|BLOCKED):\s{0,9}(.{1,2000}?)[*`\s]{0,9}$/;
const BLOCK_START = /^(?:<!--\s{0,9}HANK_STATUS|---\s{0,3}HANK_STATUS\s{0,3}---)\s*$/;
const BLOCK_END = /^(?:-->|---\s{0,3}END_HANK_STATUS\s{0,3}---)\s*$/;

/** An answer about another story: it is not valid for this one. */
export const OTHER_STORY = /^STORY_DONE: (.*)$/s;

/**
 * Reads lines of an agent that ends with text signals instead of JSON. Each signal becomes an answer; the last one counts.
 * A signal for another story is returned unchanged, which is not a valid answer.
 */
export function createSignalReader(story: string): LineReader {
  let block: Map<string, string> | undefined;
  let said = '';

  const read = (line: string): string | undefined => {
    if (block !== undefined) {
      const field = /^([A-Z_]{1,40}):\s{0,9}(.{0,2000})$/.exec(line);
      if (field !== null) block.set(field[1] ?? '', (field[2] ?? '').trim());
      if (!BLOCK_END.test(line)) return undefined;
      const answer = answerOfBlock(block, said);
      block = undefined;
      return answer;
    }
    if (BLOCK_START.test(line)) block = new Map();
    const [, word, rest = ''] = SIGNAL.exec(line) ?? [];
    if (word === undefined) return undefined;
    if (word === 'BLOCKED') return format({ status: 'needs_human', summary: rest });
    if (oneLine(rest) !== oneLine(story)) return `STORY_DONE: ${rest}`;
    if (word === 'STORY_DONE') return format({ status: 'ok', summary: said });
    return format({ status: 'failed', summary: `The agent wrote tests, but did not finish the story. ${said}`.trim() });
  };

  return (line) => {
    const text = line.trim();
    const answerText = read(text);
    if (answerText !== undefined) return { activities: [], answerText };
    const parsed = parseCommandLine(line);
    if (text !== '' && block === undefined && parsed.answerText === undefined) said = text.slice(0, MAX_SAID);
    return parsed;
  };
}

/** The answer of a HANK_STATUS block. */
function answerOfBlock(block: ReadonlyMap<string, string>, said: string): string | undefined {
  const status = block.get('STATUS')?.toUpperCase();
  const summary = block.get('RECOMMENDATION') ?? said;
  if (status === 'BLOCKED') return format({ status: 'needs_human', summary });
  if (status === 'COMPLETE' || block.get('EXIT_SIGNAL')?.toLowerCase() === 'true')
    return format({ status: 'ok', summary });
  if (status === 'IN_PROGRESS')
    return format({ status: 'failed', summary: `The agent reported that it is not finished. ${summary}`.trim() });
  return undefined;
}

/** The prompt has the id of a story on one line. */
function oneLine(id: string): string {
  return id.replace(/\s+/g, ' ').trim();
}

function format(answer: AgentAnswer): string {
  return JSON.stringify(answer);
}
