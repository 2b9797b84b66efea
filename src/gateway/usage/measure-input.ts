import type { ModelOperation } from '../model/model-operations.ts';
import type { ModelRequest } from '../model/model-route.ts';

/** Nothing that a provider lets a model read in one request is larger: the largest context window, in tokens. */
const MOST_INPUT = 2_100_000;

/**
 * Most tokens that providers count for one picture, rounded up. OpenAI: 10,000 patches at `detail: original`; servers of
 * open models that speak its APIs: 16,384. Anthropic: 4,784. Gemini: 3072 × 3072 pixels in tiles of 258 tokens.
 */
const PICTURE: Record<ModelOperation['answers'], number> = {
  responses: 16_400,
  chat: 16_400,
  messages: 5_000,
  gemini: 16_400,
};
/** gpt-4o-mini alone counts 2,833 and 5,667 for each of eight tiles. */
const DEAR_PICTURE = { models: /^gpt-4o-mini/, tokens: 48_200 };

/** What providers add of their own to a request that brings tools: instructions, and the definitions of their tools. */
const ADDED_FOR_TOOLS = 2_000;

/** Below these keys a request holds parts; what lies below others is data of the agent's that only looks like them. */
const LEADS_TO_PARTS = ['content', 'output', 'summary', 'parts', 'functionResponse', 'source'];

/**
 * The most tokens of input that a request can be counted for. No tokenizer makes more tokens of a text than it has
 * bytes. A picture counts by its kind, whatever its bytes; of a file nobody knows its pages, so it counts as all that a
 * model can read.
 */
export function mostInput({ model, operation, body }: ModelRequest): number {
  const media = [body.input, body.messages, body.contents, body.systemInstruction].flatMap(findMedia);
  if (media.some(({ kind }) => kind === 'file')) return MOST_INPUT;
  const hidden = media.reduce((sum, { data }) => sum + Buffer.byteLength(JSON.stringify(data)), 0);
  const text = Buffer.byteLength(JSON.stringify(body)) - hidden;
  const each = DEAR_PICTURE.models.test(model) ? DEAR_PICTURE.tokens : PICTURE[operation.answers];
  const tools = Array.isArray(body.tools) && body.tools.length > 0 ? ADDED_FOR_TOOLS : 0;
  return Math.min(text + media.length * each + tools, MOST_INPUT);
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

/** In the words of all four APIs; the schemas have let nothing else through. */
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
  return LEADS_TO_PARTS.flatMap((key) => findMedia((value as Record<string, unknown>)[key]));
}
