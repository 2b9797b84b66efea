import * as z from 'zod';
import type { AgentActivity } from '../../core/agent.ts';
import type { ParsedLine } from '../adapter.ts';
import { isAnswer } from '../answer.ts';
import { parseUntrustedJson } from '../../lib/parse-json.ts';
import { fromWorkspace, truncateMiddle } from '../activity-text.ts';

const item = z.discriminatedUnion('type', [
  z.object({ type: z.literal('agent_message'), text: z.string() }),
  z.object({
    type: z.literal('command_execution'),
    command: z.string(),
    aggregated_output: z.string().default(''),
    exit_code: z.number().nullish(),
  }),
  z.object({
    type: z.literal('file_change'),
    changes: z.array(z.object({ path: z.string(), kind: z.enum(['add', 'update', 'delete']) })),
    status: z.string(),
  }),
  z.object({ type: z.literal('error'), message: z.string() }),
]);

const event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('item.started'), item }),
  z.object({ type: z.literal('item.completed'), item }),
  z.object({ type: z.literal('error'), message: z.string() }),
  z.object({ type: z.literal('turn.failed'), error: z.object({ message: z.string() }) }),
]);

type Item = z.infer<typeof item>;

/** Reads one line of `codex exec --json`; unknown events and broken lines mean nothing. */
export function parseCodexLine(line: string): ParsedLine {
  const parsed = event.safeParse(parseUntrustedJson(line));
  if (!parsed.success) return { activities: [] };
  const { data } = parsed;
  switch (data.type) {
    case 'item.started':
      return { activities: readStarted(data.item) };
    case 'item.completed':
      return readCompleted(data.item);
    case 'error':
      // Codex repeats its final error as turn.failed; what it calls reconnecting is not final.
      if (data.message.startsWith('Reconnecting'))
        return { activities: [{ kind: 'warn', text: truncateMiddle(data.message) }] };
      return { activities: [], error: data.message };
    case 'turn.failed':
      return { activities: [], error: data.error.message };
  }
}

function readStarted(started: Item): AgentActivity[] {
  return started.type === 'command_execution'
    ? [{ kind: 'run', command: truncateMiddle(unwrapShell(started.command)) }]
    : [];
}

function readCompleted(done: Item): ParsedLine {
  switch (done.type) {
    case 'agent_message':
      return { activities: isAnswer(done.text) ? [] : sayText(done.text), answerText: done.text };
    case 'command_execution':
      return {
        activities: [
          {
            kind: 'ran',
            command: truncateMiddle(unwrapShell(done.command)),
            exitCode: done.exit_code ?? undefined,
            output: truncateMiddle(done.aggregated_output),
          },
        ],
      };
    case 'file_change':
      if (done.status !== 'completed')
        return { activities: [{ kind: 'warn', text: 'A change could not be applied.' }] };
      return {
        activities: done.changes.map(({ path, kind }) => ({ kind: 'edit', path: fromWorkspace(path), change: kind })),
      };
    case 'error':
      return { activities: [{ kind: 'warn', text: truncateMiddle(done.message) }] };
  }
}

function sayText(text: string): AgentActivity[] {
  return text.trim() === '' ? [] : [{ kind: 'say', text: truncateMiddle(text) }];
}

/** The command as the model wrote it: without the `/usr/bin/bash -c '…'` that Codex shows around it. */
function unwrapShell(command: string): string {
  const wrapped = /^(?:\S*\/)?(?:ba|z|da)?sh -l?c ([\s\S]+)$/.exec(command)?.[1];
  return wrapped === undefined ? command : (unquoteWord(wrapped) ?? command);
}

/** One shell word, unquoted; undefined when the text is more than one word or has quoting that is not plain. */
function unquoteWord(text: string): string | undefined {
  const part = /'([^']*)'|"((?:[^"\\$`]|\\["\\$`\n])*)"|\\([\s\S])|([^\s'"\\$`;&|<>()]+)/y;
  let word = '';
  while (part.lastIndex < text.length) {
    const match = part.exec(text);
    if (match === null) return undefined;
    word += match[1] ?? match[2]?.replace(/\\(["\\$`])/g, '$1').replaceAll('\\\n', '') ?? match[3] ?? match[4] ?? '';
  }
  return word;
}
