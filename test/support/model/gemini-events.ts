import type { Content, ResponseHead } from './model-events.ts';

/** The events of a whole answer of the Gemini API: its text in two pieces, then the call, then the usage. */
export function geminiEvents(head: ResponseHead, content: Content): object[] {
  const half = Math.ceil((content.text ?? '').length / 2);
  const texts = [content.text?.slice(0, half), content.text?.slice(half)].filter(
    (text) => text !== undefined && text !== '',
  );
  return [
    ...texts.map((text) => eventOf(head, [{ text }])),
    geminiDocument(head, content.call === undefined ? {} : { call: content.call }),
  ];
}

/** The first event of an answer that never ends. */
export function startedGemini(head: ResponseHead, text: string | undefined): object[] {
  return text === undefined ? [] : [eventOf(head, [{ text }])];
}

/** The same answer as one document. */
export function geminiDocument(head: ResponseHead, { text, call }: Content): object {
  const parts = [
    ...(text === undefined ? [] : [{ text }]),
    ...(call === undefined ? [] : [{ functionCall: { name: call.name, args: 'args' in call ? call.args : {} } }]),
  ];
  return {
    ...eventOf(head, parts, 'STOP'),
    usageMetadata: {
      promptTokenCount: head.usage.input,
      cachedContentTokenCount: head.usage.cached,
      candidatesTokenCount: head.usage.output,
      totalTokenCount: head.usage.input + head.usage.output,
    },
  };
}

function eventOf({ id, model }: ResponseHead, parts: object[], finishReason?: string) {
  const candidate = {
    content: { role: 'model', parts },
    index: 0,
    ...(finishReason === undefined ? {} : { finishReason }),
  };
  return { candidates: [candidate], modelVersion: model, responseId: id };
}
