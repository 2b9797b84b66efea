import * as z from 'zod';
import type { AgentAnswer, AgentOutcome } from '../core/agent.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { defined } from '../lib/guards.ts';
import { parseUntrustedJson } from '../lib/parse-json.ts';
import { truncateMiddle, type ExpectedAnswer, type LineReader, type ParsedLine } from './adapter.ts';

const MAX_SUMMARY = 8000;
/** Characters of JSON. */
const MAX_OTHER = 64_000;
/** The same for the stories of a plan. */
const MAX_PLAN = 400_000;

const criterion = z.object({
  n: z.int().min(1).max(1000),
  tests: z.array(z.string().min(1).max(200)).max(30).default([]),
  files: z.array(z.string().min(1).max(200)).max(10).default([]),
  holds: z
    .boolean()
    .nullish()
    .catch(undefined)
    .transform((holds) => holds ?? undefined),
});

/** Proposed answers to a question. */
const MAX_OPTIONS = 10;
const MAX_OPTION = 200;
const proposals = z.array(z.string()).transform((texts) =>
  texts
    .map((each) => safeLine(each, MAX_OPTION))
    .filter((each) => each !== '')
    .slice(0, MAX_OPTIONS),
);

const answerShape = z.looseObject({
  status: z.enum(['ok', 'needs_human', 'failed']),
  summary: z.string().max(MAX_SUMMARY),
  // A help for who reviews: an answer counts without it.
  criteria: z.array(criterion).max(100).nullish().catch(undefined),
  options: proposals.nullish().catch(undefined),
});

/**
 * The JSON schema of the final answer. Written by hand instead of by `z.toJSONSchema`, which adds `$schema`, the limits of
 * safe integers and `anyOf` with `null`; the strict forms of the providers do not accept all of them. Also, halo accepts
 * more than it asks for: `answerShape` is loose.
 */
export const ANSWER_SCHEMA = {
  type: 'object',
  properties: {
    status: { type: 'string', enum: ['ok', 'needs_human', 'failed'] },
    summary: { type: 'string' },
    criteria: {
      type: ['array', 'null'],
      items: {
        type: 'object',
        properties: {
          n: { type: 'integer' },
          tests: { type: 'array', items: { type: 'string' } },
          files: { type: 'array', items: { type: 'string' } },
        },
        required: ['n', 'tests', 'files'],
        additionalProperties: false,
      },
    },
    options: { type: ['array', 'null'], items: { type: 'string' } },
  },
  required: ['status', 'summary'],
  additionalProperties: false,
};

const text = { type: 'string' } as const;
const texts = { type: 'array', items: text } as const;

/** The JSON schema of the answer of a session that writes tests, in the strict form. */
export const TESTS_SCHEMA = {
  type: 'object',
  properties: {
    status: ANSWER_SCHEMA.properties.status,
    summary: text,
    criteria: {
      type: 'array',
      items: {
        type: 'object',
        properties: { n: { type: 'integer' }, tests: texts, holds: { type: 'boolean' } },
        required: ['n', 'tests', 'holds'],
        additionalProperties: false,
      },
    },
    options: ANSWER_SCHEMA.properties.options,
  },
  required: ['status', 'summary', 'criteria', 'options'],
  additionalProperties: false,
};

/** The JSON schema of the answer of `halo plan`, in the strict form. */
export const PLAN_SCHEMA = {
  type: 'object',
  properties: {
    status: ANSWER_SCHEMA.properties.status,
    summary: text,
    project: text,
    stories: {
      type: 'array',
      items: {
        type: 'object',
        properties: { id: text, title: text, description: text, acceptance: texts, dependsOn: texts },
        required: ['id', 'title', 'description', 'acceptance', 'dependsOn'],
        additionalProperties: false,
      },
    },
  },
  required: ['status', 'summary', 'project', 'stories'],
  additionalProperties: false,
};

/** The JSON schema of the answer of a reviewer, in the strict form. */
export const REVIEW_SCHEMA = {
  type: 'object',
  properties: {
    status: ANSWER_SCHEMA.properties.status,
    summary: text,
    findings: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          path: { type: ['string', 'null'] },
          line: { type: ['integer', 'null'] },
          severity: { type: 'string', enum: ['blocking', 'note'] },
          criterion: { type: ['integer', 'null'] },
          text,
        },
        required: ['path', 'line', 'severity', 'criterion', 'text'],
        additionalProperties: false,
      },
    },
    judged: {
      type: 'array',
      items: {
        type: 'object',
        properties: { n: { type: 'integer' }, met: { type: 'string', enum: ['yes', 'no', 'unclear'] } },
        required: ['n', 'met'],
        additionalProperties: false,
      },
    },
  },
  required: ['status', 'summary', 'findings', 'judged'],
  additionalProperties: false,
};

/**
 * ANSWER_SCHEMA in the strict form that requires all properties:
 * https://platform.openai.com/docs/guides/structured-outputs
 */
export const STRICT_ANSWER_SCHEMA = { ...ANSWER_SCHEMA, required: Object.keys(ANSWER_SCHEMA.properties) };

/**
 * Reads the final answer: exactly one JSON object with at least the agreed keys, and nothing around it but white space.
 * Other keys are kept.
 */
export function readAnswer(text: string | undefined): AgentOutcome {
  if (text === undefined || text.trim() === '') return invalid('The agent ended without a final answer.');
  const value = parseUntrustedJson(text);
  if (value === undefined) return invalid(describeNoJson(text.trim()));
  const parsed = answerShape.safeParse(value);
  if (!parsed.success)
    return invalid(`The agent's final answer breaks the agreed shape: ${describeIssue(parsed.error)}.`);
  const { status, summary, criteria, options, ...other } = parsed.data;
  const asks = status === 'needs_human' && options && options.length > 0;
  return {
    kind: 'answer',
    answer: { status, summary, ...(criteria && { criteria }), ...(asks && { options }), ...keepOther(other) },
  };
}

/** Other keys of an answer, unless they are too long to be kept. */
function keepOther(other: Record<string, unknown>): Pick<AgentAnswer, 'other'> {
  const max = Array.isArray(other['stories']) ? MAX_PLAN : MAX_OTHER;
  const isKept = Object.keys(other).length > 0 && JSON.stringify(other).length <= max;
  return isKept ? { other } : {};
}

/** The content of `result.json`: the answer with its other keys in their places. */
export function formatAnswer({ other, ...answer }: AgentAnswer): string {
  return `${JSON.stringify({ ...answer, ...other }, null, 2)}\n`;
}

/** Whether the text is a valid final answer. */
export function isAnswer(text: string): boolean {
  return readAnswer(text).kind === 'answer';
}

function describeNoJson(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length > 1 && lines.every((line) => parseUntrustedJson(line) !== undefined))
    return `The agent's final answer holds ${lines.length} JSON documents instead of one.`;
  return `The agent's final answer is not the JSON that was asked for: "${safeLine(text, 120)}".`;
}

function describeIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'it is not the agreed object';
  const place = issue.path.join('.');
  if (place === 'status') return '"status" must be "ok", "needs_human" or "failed"';
  if (place === 'summary')
    return issue.code === 'too_big' ? `"summary" is longer than ${MAX_SUMMARY} characters` : '"summary" must be a text';
  return 'it must be an object with "status" and "summary"';
}

function invalid(error: string): AgentOutcome {
  return { kind: 'invalid', error };
}

const MAX_SAID = 2000;

/** `STORY_DONE: US-001`, `TESTS_GENERATED: US-001`, `BLOCKED: reason`, also as bold text or in a code span. */
const SIGNAL = /^[*`\s]{0,9}(STORY_DONE|TESTS_GENERATED|BLOCKED):\s{0,9}(.{1,2000}?)[*`\s]{0,9}$/;
const BLOCK_START = /^(?:<!--\s{0,9}HANK_STATUS|---\s{0,3}HANK_STATUS\s{0,3}---)\s*$/;
const BLOCK_END = /^(?:-->|---\s{0,3}END_HANK_STATUS\s{0,3}---)\s*$/;

/** Why a signal does not count. */
const REFUSALS = {
  example: 'The last signal that the agent printed is the example in its prompt',
  other: 'The agent reported another story as its own',
};
/** Replaces a signal that does not count. */
const Refused = z.strictObject({ refused: z.enum(['example', 'other']), signal: z.string() });

/** The example in the prompt: an agent that prints its prompt has not answered with it, nor with a signal before it. */
export const BLOCKED_EXAMPLE = 'what is missing, if only a person can decide or provide it';

/**
 * Reads lines of an agent that ends with text signals instead of JSON. Each signal becomes an answer; the last one counts.
 * A signal for another story, or the example of the prompt, becomes an answer that `readSignalAnswer` refuses.
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
    if (word === 'BLOCKED' && rest === BLOCKED_EXAMPLE) return JSON.stringify({ refused: 'example', signal: rest });
    if (word === 'BLOCKED') return format({ status: 'needs_human', summary: rest });
    if (oneLine(rest) !== oneLine(story)) return JSON.stringify({ refused: 'other', signal: rest });
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
  const refused = Refused.safeParse(parseUntrustedJson(text ?? ''));
  if (!refused.success) return readAnswer(text);
  const { refused: why, signal } = refused.data;
  return { kind: 'invalid', error: `${REFUSALS[why]}: "${safeLine(signal, 120)}".` };
}

/** The answer of a HANK_STATUS block. */
function answerOfBlock(block: ReadonlyMap<string, string>, said: string): string | undefined {
  const status = block.get('STATUS')?.toUpperCase();
  const next = block.get('RECOMMENDATION');
  const summary = next ?? said;
  if (status === 'BLOCKED') return format({ status: 'needs_human', summary });
  if (status === 'COMPLETE' || block.get('EXIT_SIGNAL')?.toLowerCase() === 'true')
    return format({ status: 'ok', summary: describeDone(block.get('TASKS_COMPLETED'), { said, next }) });
  if (status === 'IN_PROGRESS')
    return format({ status: 'failed', summary: `The agent reported that it is not finished. ${summary}`.trim() });
  return undefined;
}

/** What was done comes first: the recommendation names the next step. Some agents give only the number of tasks. */
function describeDone(tasks: string | undefined, { said, next }: { said: string; next: string | undefined }): string {
  const done = tasks !== undefined && /\p{L}/u.test(tasks) ? tasks : said;
  if (done === '' || next === undefined) return done === '' ? (next ?? '') : done;
  return `${done.replace(/\.$/, '')}. Next: ${next}`;
}

/** The prompt has the id of a story on one line. */
function oneLine(id: string): string {
  return id.replace(/\s+/g, ' ').trim();
}

function format(answer: AgentAnswer): string {
  return JSON.stringify(answer);
}

/** A JSON object with a `status` is a candidate for the answer; every other line is the command talking. */
export function parseCommandLine(line: string): ParsedLine {
  const text = line.trimEnd();
  if (text === '') return { activities: [] };
  if (hasStatus(text)) return { activities: [], answerText: text };
  return { activities: [{ kind: 'say', text: truncateMiddle(text) }] };
}

function hasStatus(text: string): boolean {
  if (!text.trimStart().startsWith('{')) return false;
  const value = parseUntrustedJson(text);
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'status');
}
