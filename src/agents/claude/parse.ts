import * as z from 'zod';
import type { AgentActivity } from '../../core/agent.ts';
import type { ParsedLine } from '../adapter.ts';
import { isAnswer } from '../answer.ts';
import { parseUntrustedJson } from '../../lib/parse-json.ts';
import { fromWorkspace, denial, truncateMiddle } from '../activity-text.ts';
import { defined } from '../../lib/guards.ts';

const block = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({
    type: z.literal('tool_use'),
    name: z.literal('Bash'),
    input: z.object({ command: z.string() }),
  }),
  z.object({ type: z.string() }),
]);

/** What a tool gave back, by the shape that each kind of tool has. */
const outcome = z.union([
  z.object({ stdout: z.string(), stderr: z.string().default('') }),
  z.object({ type: z.enum(['create', 'update']), filePath: z.string() }),
  z.object({ filePath: z.string(), oldString: z.string() }),
  z.string(),
]);

const event = z.discriminatedUnion('type', [
  z.discriminatedUnion('subtype', [
    z.object({
      type: z.literal('system'),
      subtype: z.literal('api_retry'),
      attempt: z.number(),
      max_retries: z.number(),
      error_status: z.number().nullish(),
      error: z.string().nullish(),
    }),
    z.object({
      type: z.literal('system'),
      subtype: z.literal('permission_denied'),
      tool_name: z.string(),
      message: z.string().default(''),
      decision_reason: z.string().nullish(),
    }),
  ]),
  z.object({
    type: z.literal('assistant'),
    message: z.object({ model: z.string().nullish(), content: z.array(block) }),
  }),
  z.object({ type: z.literal('user'), tool_use_result: outcome }),
  z.object({
    type: z.literal('result'),
    is_error: z.boolean(),
    result: z.string().optional(),
    structured_output: z.unknown().optional(),
    errors: z.array(z.string()).optional(),
    terminal_reason: z.string().nullish(),
  }),
]);

/** The result of a command comes without the command, which is on an earlier line. */
const ABOVE = 'the command above';

type Event = z.infer<typeof event>;

/** Reads one line of `claude -p --output-format stream-json`; unknown events and broken lines mean nothing. */
export function parseClaudeLine(line: string): ParsedLine {
  const parsed = event.safeParse(parseUntrustedJson(line));
  if (!parsed.success) return { activities: [] };
  const { data } = parsed;
  switch (data.type) {
    case 'system':
      return data.subtype === 'api_retry'
        ? { activities: [{ kind: 'warn', text: describeRetry(data) }] }
        : denial(`${data.tool_name}: ${data.decision_reason ?? data.message}`);
    case 'assistant':
      // Its own words about an error come again in the result.
      return { activities: data.message.model === '<synthetic>' ? [] : data.message.content.flatMap(readBlock) };
    case 'user':
      return { activities: readToolResult(data.tool_use_result) };
    case 'result':
      return readResult(data);
  }
}

function describeRetry({
  attempt,
  max_retries,
  error_status,
  error,
}: Extract<Event, { subtype: 'api_retry' }>): string {
  const why = error_status ?? error ?? 'no connection';
  return truncateMiddle(`Reconnecting... ${attempt}/${max_retries} (${why})`);
}

function readBlock(content: z.infer<typeof block>): AgentActivity[] {
  if ('text' in content)
    return content.text.trim() === '' || isAnswer(content.text)
      ? []
      : [{ kind: 'say', text: truncateMiddle(content.text) }];
  if ('input' in content) return [{ kind: 'run', command: truncateMiddle(content.input.command) }];
  return [];
}

function readToolResult(result: z.infer<typeof outcome>): AgentActivity[] {
  if (typeof result === 'string') return readFailure(result);
  if ('stdout' in result) {
    const output = [result.stdout, result.stderr].filter((text) => text !== '').join('\n');
    return [{ kind: 'ran', command: ABOVE, exitCode: 0, output: truncateMiddle(output) }];
  }
  const created = 'type' in result && result.type === 'create';
  return [{ kind: 'edit', path: fromWorkspace(result.filePath), change: created ? 'add' : 'update' }];
}

/** A command that failed gives its exit code and output as one text; other failures are not shown. */
function readFailure(text: string): AgentActivity[] {
  const [, exitCode, output = ''] = /^Error: Exit code (\d+)(?:\n([\s\S]*))?$/.exec(text) ?? [];
  return exitCode === undefined
    ? []
    : [{ kind: 'ran', command: ABOVE, exitCode: Number(exitCode), output: truncateMiddle(output) }];
}

function readResult(result: Event & { type: 'result' }): ParsedLine {
  if (!result.is_error) {
    const { structured_output: answer } = result;
    const answerText = answer === undefined || answer === null ? result.result : JSON.stringify(answer);
    return { activities: [], ...defined({ answerText }) };
  }
  const words = [result.result ?? result.errors?.join('; ') ?? 'it gave no reason'];
  if (result.terminal_reason?.startsWith('aborted') === true) words.unshift(result.terminal_reason);
  return { activities: [], error: words.join(': ') };
}
