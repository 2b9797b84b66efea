import type { Content, ResponseHead } from './model-events.ts';

type StreamEvent = { type: string } & Record<string, unknown>;

/** The events of a whole answer of the Messages API. */
export function messageEvents(head: ResponseHead, content: Content): StreamEvent[] {
  const blocks = blocksOf(head.id, content).flatMap((block, index) => blockEvents(block, index));
  const delta = { stop_reason: content.call === undefined ? 'end_turn' : 'tool_use', stop_sequence: null };
  return [
    startOfMessage(head),
    ...blocks,
    { type: 'message_delta', delta, usage: { output_tokens: head.usage.output } },
    { type: 'message_stop' },
  ];
}

/** The first events of an answer that never ends. */
export function startedMessage(head: ResponseHead, text: string | undefined): StreamEvent[] {
  const begun = text === undefined ? [] : blockEvents({ type: 'text', text }, 0).slice(0, -1);
  return [startOfMessage(head), ...begun];
}

/** The same answer as one document. */
export function messageDocument(head: ResponseHead, content: Content) {
  const stop_reason = content.call === undefined ? 'end_turn' : 'tool_use';
  return { ...messageOf(head), content: blocksOf(head.id, content), stop_reason, usage: usageOf(head, true) };
}

type Block = { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: unknown };

function blocksOf(id: string, { text, call }: Content): Block[] {
  return [
    ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
    ...(call === undefined
      ? []
      : [{ type: 'tool_use' as const, id: `toolu_${id}`, name: call.name, input: 'args' in call ? call.args : {} }]),
  ];
}

function blockEvents(block: Block, index: number): StreamEvent[] {
  const [empty, delta] =
    block.type === 'text'
      ? [
          { ...block, text: '' },
          { type: 'text_delta', text: block.text },
        ]
      : [
          { ...block, input: {} },
          { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
        ];
  return [
    { type: 'content_block_start', index, content_block: empty },
    { type: 'content_block_delta', index, delta },
    { type: 'content_block_stop', index },
  ];
}

function startOfMessage(head: ResponseHead): StreamEvent {
  return { type: 'message_start', message: { ...messageOf(head), content: [], usage: usageOf(head, false) } };
}

function messageOf({ id, model }: ResponseHead) {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model, stop_reason: null, stop_sequence: null };
}

function usageOf({ usage }: ResponseHead, ended: boolean) {
  return {
    input_tokens: usage.input - usage.cached,
    cache_read_input_tokens: usage.cached,
    cache_creation_input_tokens: 0,
    output_tokens: ended ? usage.output : 1,
  };
}
