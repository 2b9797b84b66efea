/** A tool call of the scripted model: `args` for a function, `input` for a tool that takes plain text. */
export type ToolCall =
  | { name: string; args: unknown; namespace?: string | undefined }
  | { name: string; input: string };

export interface ResponseHead {
  id: string;
  model: string;
  usage: { input: number; output: number; cached: number };
}

type StreamEvent = { type: string } & Record<string, unknown>;

interface Tool {
  name?: string;
  type?: string;
  function?: { name: string };
  functionDeclarations?: { name: string }[];
}

/** The names of the tools that a request offers, in any of the APIs. */
export function toolNames(body: unknown): string[] {
  const tools = (body as { tools?: Tool[] }).tools ?? [];
  return tools.flatMap(
    (tool) => tool.functionDeclarations?.map(({ name }) => name) ?? tool.name ?? tool.function?.name ?? tool.type ?? '',
  );
}

/** What a response holds: a message, a tool call, or the one before the other. */
export interface Content {
  text?: string;
  call?: ToolCall;
}

/** The events of a whole response. */
export function completedEvents(head: ResponseHead, { text, call }: Content): StreamEvent[] {
  const output = [
    ...(text === undefined ? [] : [messageItem(head.id, text)]),
    ...(call === undefined ? [] : [callItem(head.id, call)]),
  ];
  const usage = {
    input_tokens: head.usage.input,
    input_tokens_details: { cached_tokens: head.usage.cached },
    output_tokens: head.usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: head.usage.input + head.usage.output,
  };
  return [
    ...startedEvents(head, text),
    ...output.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item })),
    { type: 'response.completed', response: { ...whole(head), status: 'completed', output, usage } },
  ];
}

/** The first events of a response: with a text, up to its deltas. */
export function startedEvents(head: ResponseHead, text: string | undefined): StreamEvent[] {
  const created = { type: 'response.created', response: { ...whole(head), status: 'in_progress', output: [] } };
  if (text === undefined) return [created];
  const item = { ...messageItem(head.id, ''), status: 'in_progress', content: [] };
  const deltas = text.match(/[\s\S]{1,40}/g) ?? [];
  return [
    created,
    { type: 'response.output_item.added', output_index: 0, item },
    ...deltas.map((delta) => ({
      type: 'response.output_text.delta',
      item_id: item.id,
      output_index: 0,
      content_index: 0,
      delta,
    })),
  ];
}

function whole(head: ResponseHead) {
  return { id: `resp_${head.id}`, object: 'response', model: head.model };
}

function messageItem(id: string, text: string) {
  return {
    type: 'message',
    id: `msg_${id}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
}

function callItem(id: string, call: ToolCall) {
  const common = { id: `item_${id}`, call_id: `call_${id}`, name: call.name, status: 'completed' };
  return 'input' in call
    ? { type: 'custom_tool_call', ...common, input: call.input }
    : {
        type: 'function_call',
        ...common,
        ...(call.namespace === undefined ? {} : { namespace: call.namespace }),
        arguments: JSON.stringify(call.args),
      };
}
