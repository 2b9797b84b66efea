import type { ModelOperation } from '../model/model-operations.ts';
import type { ModelRequest } from '../model/model-route.ts';

/** The largest context window of any model, in tokens. */
const MAX_CONTEXT_TOKENS = 2_100_000;

/**
 * Maximum tokens that providers count for one image, rounded up. OpenAI: 10,000 patches at `detail: original`; servers of
 * open models that speak its APIs: 16,384. Anthropic: 4,784. Gemini: 3072 × 3072 pixels in tiles of 258 tokens.
 */
const IMAGE_TOKENS: Record<ModelOperation['responseFormat'], number> = {
  responses: 16_400,
  chat: 16_400,
  messages: 5_000,
  gemini: 16_400,
};
/** gpt-4o-mini alone counts 2,833 and 5,667 for each of eight tiles. */
const EXPENSIVE_IMAGE = { models: /^gpt-4o-mini/, tokens: 48_200 };

/** Tokens that providers add to a request with tools: instructions and tool definitions. */
const TOOL_OVERHEAD = 2_000;

/** Keys that contain parts. Below other keys, agent data may look like parts. */
const PART_KEYS = ['content', 'output', 'summary', 'parts', 'functionResponse', 'source'];

/**
 * The maximum input tokens of a request. A text never has more tokens than bytes. An image has a fixed maximum per API.
 * The pages of a file are unknown, so a file counts as the largest context window.
 */
export function maxInputTokens({ model, operation, body }: ModelRequest): number {
  const media = [body.input, body.messages, body.contents, body.systemInstruction].flatMap(findMedia);
  if (media.some(({ kind }) => kind === 'file')) return MAX_CONTEXT_TOKENS;
  const hidden = media.reduce((sum, { data }) => sum + Buffer.byteLength(JSON.stringify(data)), 0);
  const text = Buffer.byteLength(JSON.stringify(body)) - hidden;
  const each = EXPENSIVE_IMAGE.models.test(model) ? EXPENSIVE_IMAGE.tokens : IMAGE_TOKENS[operation.responseFormat];
  const tools = Array.isArray(body.tools) && body.tools.length > 0 ? TOOL_OVERHEAD : 0;
  return Math.min(text + media.length * each + tools, MAX_CONTEXT_TOKENS);
}

interface Media {
  kind: 'picture' | 'file';
  /** Its bytes, as text. */
  data: string;
}

interface Part {
  type?: unknown;
  image_url?: string | { url: string };
  file?: unknown;
  source?: { type?: unknown; data?: string };
  inlineData?: { mimeType: string; data: string };
}

/** Finds media in the formats of all four APIs, the only ones that the schemas accept. */
function findMedia(value: unknown): Media[] {
  if (Array.isArray(value)) return value.flatMap(findMedia);
  if (typeof value !== 'object' || value === null) return [];
  const part = value as Part;
  const { inlineData, source } = part;
  if (inlineData !== undefined) {
    return [{ kind: inlineData.mimeType.startsWith('image/') ? 'picture' : 'file', data: inlineData.data }];
  }
  switch (part.type) {
    case 'input_image':
    case 'image_url': {
      const url = typeof part.image_url === 'string' ? part.image_url : part.image_url?.url;
      return [{ kind: 'picture', data: url ?? '' }];
    }
    case 'image':
      return [{ kind: 'picture', data: source?.data ?? '' }];
    case 'input_file':
    case 'file':
      return [{ kind: 'file', data: '' }];
    case 'document':
      if (source?.type === 'base64') return [{ kind: 'file', data: '' }];
  }
  return PART_KEYS.flatMap((key) => findMedia((value as Record<string, unknown>)[key]));
}
