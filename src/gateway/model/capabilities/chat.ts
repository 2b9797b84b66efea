import * as z from 'zod';
import { AnyObject, Grammar, JsonSchemaFormat, ImageUrl, Unsupported, Tokens } from './shared-schemas.ts';

const Part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
  z.object({
    type: z.literal('image_url'),
    image_url: z.object({ url: ImageUrl, detail: z.string().optional() }),
  }),
  z.object({
    type: z.literal('file'),
    file: z.object({ file_data: z.string(), filename: z.string().optional() }),
  }),
]);
const Content = z.union([z.string(), z.array(Part)]);

const FunctionCall = z.object({ name: z.string(), arguments: z.string() });
const ToolCall = z.discriminatedUnion('type', [
  z.object({ type: z.literal('function'), id: z.string(), function: FunctionCall }),
  z.object({
    type: z.literal('custom'),
    id: z.string(),
    custom: z.object({ name: z.string(), input: z.string() }),
  }),
]);

const Message = z.discriminatedUnion('role', [
  z.object({
    role: z.enum(['system', 'developer', 'user']),
    content: Content,
    name: z.string().optional(),
  }),
  z.object({
    role: z.literal('assistant'),
    content: Content.nullish(),
    name: z.string().optional(),
    refusal: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    tool_calls: z.array(ToolCall).nullish(),
  }),
  z.object({ role: z.literal('tool'), tool_call_id: z.string(), content: Content }),
]);

/** Tools that the agent itself executes. */
const Tool = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('function'),
    function: z.object({
      name: z.string(),
      description: z.string().nullish(),
      parameters: AnyObject.nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
  z.object({
    type: z.literal('custom'),
    custom: z.object({
      name: z.string(),
      description: z.string().nullish(),
      format: z
        .discriminatedUnion('type', [
          z.object({ type: z.literal('text') }),
          z.object({ type: z.literal('grammar'), grammar: Grammar }),
        ])
        .optional(),
    }),
  }),
]);

const number = z.number().nullish();

/** The accepted fields of a chat completion request; other keys are dropped. */
export const ChatBody = z
  .object({
    model: z.string(),
    messages: z.array(Message),
    tools: z.array(Tool).nullish(),
    tool_choice: z
      .union([
        z.enum(['auto', 'none', 'required']),
        z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
        z.object({ type: z.literal('custom'), custom: z.object({ name: z.string() }) }),
      ])
      .nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    stream: z.boolean().nullish(),
    response_format: z
      .discriminatedUnion('type', [
        z.object({ type: z.enum(['text', 'json_object']) }),
        z.object({ type: z.literal('json_schema'), json_schema: JsonSchemaFormat }),
      ])
      .nullish(),
    reasoning_effort: z.string().nullish(),
    verbosity: z.string().nullish(),
    max_tokens: Tokens.nullish(),
    max_completion_tokens: Tokens.nullish(),
    temperature: number,
    top_p: number,
    frequency_penalty: number,
    presence_penalty: number,
    seed: number,
    stop: z.union([z.string(), z.array(z.string())]).nullish(),
    prompt_cache_key: z.string().nullish(),
    n: z.literal(1).nullish(),
    web_search_options: Unsupported,
    background: Unsupported,
    // Some servers with this API do not know `store`. If it is absent, none of them stores the request.
    store: z
      .unknown()
      .optional()
      .transform(() => undefined),
  })
  // Servers disagree about which of the two takes precedence.
  .refine((body) => body.max_tokens == null || body.max_completion_tokens == null, {
    path: ['max_tokens'],
    error: 'it sets both max_tokens and max_completion_tokens',
  })
  // Without this option, a stream does not report its usage.
  .transform((body) => (body.stream === true ? { ...body, stream_options: { include_usage: true } } : body));
