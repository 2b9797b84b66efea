import * as z from 'zod';
import { AnyObject, ImageType, Unsupported, Tokens } from './shared-schemas.ts';

/**
 * `ttl` is dropped: writing to a cache that lasts longer than the default five minutes costs more than halo reserves.
 */
const cache = {
  cache_control: z.object({ type: z.literal('ephemeral'), scope: z.string().optional() }).nullish(),
};
const Text = z.object({ type: z.literal('text'), text: z.string(), ...cache });
const Picture = z.object({ type: z.literal('base64'), media_type: ImageType, data: z.string() });
/** Only images and documents inside the request, so that the provider fetches nothing. */
const Image = z.object({ type: z.literal('image'), source: z.discriminatedUnion('type', [Picture]), ...cache });
const Document = z.object({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    z.object({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
    z.object({ type: z.literal('text'), media_type: z.string(), data: z.string() }),
    z.object({
      type: z.literal('content'),
      content: z.union([z.string(), z.array(z.discriminatedUnion('type', [Text, Image]))]),
    }),
  ]),
  title: z.string().nullish(),
  context: z.string().nullish(),
  ...cache,
});
const ToolReference = z.object({ type: z.literal('tool_reference'), tool_name: z.string() });

const Block = z.discriminatedUnion('type', [
  Text,
  Image,
  Document,
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown(), ...cache }),
  z.object({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    content: z
      .union([z.string(), z.array(z.discriminatedUnion('type', [Text, Image, Document, ToolReference]))])
      .optional(),
    is_error: z.boolean().optional(),
    ...cache,
  }),
  z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
  z.object({ type: z.literal('redacted_thinking'), data: z.string() }),
  z.object({ type: z.literal('compaction'), content: z.string().nullish(), ...cache }),
]);

/** Tools that the agent itself executes: its own, and the provider's definitions of a shell and an editor. */
const Tool = z.object({
  type: z
    .string()
    .regex(/^(custom|bash_\d{8}|text_editor_\d{8})$/)
    .nullish(),
  name: z.string(),
  description: z.string().optional(),
  input_schema: AnyObject.optional(),
  input_examples: z.array(z.unknown()).optional(),
  strict: z.boolean().optional(),
  defer_loading: z.boolean().optional(),
  eager_input_streaming: z.boolean().optional(),
  max_characters: z.number().optional(),
  ...cache,
});

const JsonFormat = z.object({ type: z.literal('json_schema'), schema: AnyObject });

const shape = {
  model: z.string(),
  system: z.union([z.string(), z.array(Text)]).optional(),
  messages: z.array(
    z.object({
      role: z.enum(['user', 'assistant', 'system']),
      content: z.union([z.string(), z.array(Block)]),
    }),
  ),
  tools: z.array(Tool).optional(),
  tool_choice: z
    .object({
      type: z.enum(['auto', 'any', 'tool', 'none']),
      name: z.string().optional(),
      disable_parallel_tool_use: z.boolean().optional(),
    })
    .optional(),
  thinking: z
    .object({
      type: z.enum(['enabled', 'disabled', 'adaptive']),
      budget_tokens: Tokens.optional(),
      display: z.string().optional(),
    })
    .optional(),
  context_management: z
    .object({
      edits: z.array(z.looseObject({ type: z.string().regex(/^(clear_thinking|clear_tool_uses|compact)_\d{8}$/) })),
    })
    .nullish(),
  output_config: z.object({ effort: z.string().optional(), format: JsonFormat.nullish() }).optional(),
  output_format: JsonFormat.nullish(),
  mcp_servers: Unsupported,
  container: Unsupported,
};

/** The accepted fields of a request to the Messages API; other keys are dropped. */
export const MessagesBody = z.object({
  ...shape,
  max_tokens: Tokens,
  metadata: z.object({ user_id: z.string().nullish() }).optional(),
  stop_sequences: z.array(z.string()).optional(),
  stream: z.boolean().optional(),
  temperature: z.number().optional(),
  top_k: z.number().optional(),
  top_p: z.number().optional(),
});

/** The accepted fields of a request to count tokens. */
export const CountTokensBody = z.object(shape);
