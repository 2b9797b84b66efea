import type { AgentAnswer, AgentOutcome } from '../core/agent.ts';
import { safeLine } from '../core/text/safe-text.ts';
import type { ExpectedAnswer, LineReader } from './adapter.ts';
import { isAnswer, readAnswer } from './answer.ts';
import { parseCommandLine } from './command/parse.ts';
import { defined } from '../lib/guards.ts';

const MAX_SAID = 2000;

/** `STORY_DONE: US-001`, `TESTS_GENERATED: US-001`, `BLOCKED: reason`, also as bold text or in a code span. */
const SIGNAL = /^[*`\s]{0,9}(STORY_DONE|TESTS_GENERATED|BLOCKED):\s{0,9}(.{1,2000}?)[*`\s]{0,9}$/;
const BLOCK_START = /^(?:<!--\s{0,9}HANK_STATUS|---\s{0,3}HANK_STATUS\s{0,3}---)\s*$/;
const BLOCK_END = /^(?:-->|---\s{0,3}END_HANK_STATUS\s{0,3}---)\s*$/;

/** Replaces an answer about another story, which is not valid for this one. */
const OTHER_STORY = 'The agent reported another story as its own: ';

/**
 * Reads lines of an agent that ends with text signals instead of JSON. Each signal becomes an answer; the last one counts.
 * A signal for another story becomes an answer that `readSignalAnswer` refuses.
 */
export function createSignalReader({ story, testsOnly }: Omit<ExpectedAnswer, 'form'>): LineReader {
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
    if (oneLine(rest) !== oneLine(story)) return `${OTHER_STORY}${rest}`;
    if (word === 'STORY_DONE' || testsOnly === true) return format({ status: 'ok', summary: said });
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

/**
 * A reader for a program whose messages may end with signals, if the prompt asks for them. Messages without a signal or a
 * JSON answer are text.
 */
export function withSignals(read: LineReader, expected: ExpectedAnswer | undefined): LineReader {
  if (expected?.form !== 'signals') return read;
  const readLine = createSignalReader(expected);
  return (line) => {
    const { answerText, ...parsed } = read(line);
    if (answerText === undefined || isAnswer(answerText)) return { ...parsed, ...defined({ answerText }) };
    const answers = answerText.split(/\r?\n/).flatMap((each) => readLine(each).answerText ?? []);
    return { ...parsed, ...defined({ answerText: answers.at(-1) }) };
  };
}

/** Reads the final answer of an agent that may end with signals. */
export function readSignalAnswer(text: string | undefined): AgentOutcome {
  if (text?.startsWith(OTHER_STORY) !== true) return readAnswer(text);
  return { kind: 'invalid', error: `${OTHER_STORY}"${safeLine(text.slice(OTHER_STORY.length), 120)}".` };
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
