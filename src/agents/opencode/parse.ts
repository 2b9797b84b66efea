import * as z from 'zod';
import type { AgentActivity } from '../../core/agent.ts';
import type { ParsedLine } from '../adapter.ts';
import { isAnswer } from '../answer.ts';
import { parseUntrustedJson } from '../../lib/parse-json.ts';
import { denial, truncateMiddle } from '../activity-text.ts';

const DENIED = /^The user (?:has specified a rule which prevents|rejected permission)/;

const refused = z
  .object({ tool: z.string(), state: z.object({ status: z.literal('error'), error: z.string().regex(DENIED) }) })
  .transform(({ tool }) => ({ refused: tool }));

const tool = z.union([
  refused,
  z.object({
    tool: z.literal('bash'),
    state: z.object({
      input: z.object({ command: z.string() }),
      output: z.string().default(''),
      metadata: z.object({ exit: z.number().nullish() }).nullish(),
    }),
  }),
  z.object({
    tool: z.enum(['write', 'edit']),
    state: z.object({ status: z.literal('completed'), input: z.object({ filePath: z.string() }) }),
  }),
]);

const event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), part: z.object({ text: z.string() }) }),
  z.object({ type: z.literal('tool_use'), part: tool }),
  z.object({
    type: z.literal('error'),
    error: z.object({ name: z.string().default('Error'), data: z.object({ message: z.string() }).nullish() }),
  }),
]);

/** Reads one line of `opencode run --format json`; unknown events and broken lines mean nothing. */
export function parseOpencodeLine(line: string): ParsedLine {
  const parsed = event.safeParse(parseUntrustedJson(line));
  if (!parsed.success) return { activities: [] };
  const { data } = parsed;
  switch (data.type) {
    case 'text': {
      const { text } = data.part;
      const silent = text.trim() === '' || isAnswer(text);
      return { activities: silent ? [] : [{ kind: 'say', text: truncateMiddle(text) }], answerText: text };
    }
    case 'tool_use':
      return readTool(data.part);
    case 'error':
      return { activities: [], error: data.error.data?.message ?? data.error.name };
  }
}

function readTool(part: z.infer<typeof tool>): ParsedLine {
  if ('refused' in part) return denial(part.refused);
  return { activities: readUse(part) };
}

function readUse(part: Exclude<z.infer<typeof tool>, { refused: string }>): AgentActivity[] {
  if (part.tool !== 'bash') {
    const path = part.state.input.filePath.replace(/^\/workspace\//, '');
    return [{ kind: 'edit', path, change: part.tool === 'write' ? 'add' : 'update' }];
  }
  const command = truncateMiddle(part.state.input.command);
  const exitCode = part.state.metadata?.exit ?? undefined;
  return [
    { kind: 'run', command },
    { kind: 'ran', command, exitCode, output: truncateMiddle(part.state.output) },
  ];
}
