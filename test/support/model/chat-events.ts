import type { Content, ResponseHead } from './model-events.ts';

/** The chunks of a streamed chat completion; the last one has the usage if it was requested. */
export function chatChunks(head: ResponseHead, content: Content, withUsage: boolean) {
  const chunk = { id: `chatcmpl-${head.id}`, object: 'chat.completion.chunk', model: head.model };
  const choice = (delta: object, finish_reason: string | null) => [{ index: 0, delta, finish_reason }];
  return [
    { ...chunk, choices: choice({ role: 'assistant', ...messageOf(head.id, content) }, null) },
    { ...chunk, choices: choice({}, content.call === undefined ? 'stop' : 'tool_calls') },
    ...(withUsage ? [{ ...chunk, choices: [], usage: usageOf(head) }] : []),
  ];
}

/** The same completion as one document. */
export function chatDocument(head: ResponseHead, content: Content) {
  const message = { role: 'assistant', ...messageOf(head.id, content) };
  const finish_reason = content.call === undefined ? 'stop' : 'tool_calls';
  const choices = [{ index: 0, message, finish_reason }];
  return { id: `chatcmpl-${head.id}`, object: 'chat.completion', model: head.model, choices, usage: usageOf(head) };
}

function messageOf(id: string, { text, call }: Content) {
  if (call === undefined) return { content: text ?? '' };
  const fn = { name: call.name, arguments: JSON.stringify('args' in call ? call.args : {}) };
  return { content: text ?? null, tool_calls: [{ index: 0, id: `call_${id}`, type: 'function', function: fn }] };
}

function usageOf({ usage }: ResponseHead) {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached },
  };
}
