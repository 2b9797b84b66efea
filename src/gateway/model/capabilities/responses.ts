import * as z from 'zod';
import { AnyObject, Grammar, JsonSchemaFormat, ImageUrl, Unsupported, Tokens } from './shared-schemas.ts';

/**
 * The content of a message, a reasoning item or a tool result. URLs other than data URLs, and file ids, are not
 * accepted.
 */
const Part = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['input_text', 'output_text', 'summary_text', 'reasoning_text', 'text']), text: z.string() }),
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
  z.object({ type: z.literal('encrypted_content'), encrypted_content: z.string() }),
  z.object({ type: z.literal('input_image'), image_url: ImageUrl, detail: z.string().optional() }),
  z.object({ type: z.literal('input_file'), file_data: z.string(), filename: z.string().optional() }),
]);
const Content = z.union([z.string(), z.array(Part)]);

const FunctionTool = z.object({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().nullish(),
  parameters: AnyObject.nullish(),
  strict: z.boolean().nullish(),
  defer_loading: z.boolean().optional(),
});
const CustomTool = z.object({
  type: z.literal('custom'),
  name: z.string(),
  description: z.string().nullish(),
  format: z
    .discriminatedUnion('type', [z.object({ type: z.literal('text') }), Grammar.extend({ type: z.literal('grammar') })])
    .optional(),
  defer_loading: z.boolean().optional(),
});
const OwnTool = z.discriminatedUnion('type', [FunctionTool, CustomTool]);

/** Tools that the agent itself executes in its sandbox. Tools that the provider executes are not accepted. */
const Tool = z.discriminatedUnion('type', [
  FunctionTool,
  CustomTool,
  z.object({ type: z.literal('local_shell') }),
  z.object({
    type: z.literal('namespace'),
    name: z.string(),
    description: z.string().nullish(),
    tools: z.array(OwnTool),
  }),
  z.object({
    type: z.literal('tool_search'),
    execution: z.literal('client'),
    description: z.string().nullish(),
    parameters: AnyObject.nullish(),
  }),
]);

const common = { id: z.string().nullish(), status: z.string().nullish() };
const call = { ...common, call_id: z.string(), name: z.string(), namespace: z.string().nullish() };
const output = { ...common, call_id: z.string(), name: z.string().nullish(), output: Content };

const Item = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message').optional(),
    ...common,
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: Content,
    phase: z.string().nullish(),
    end_turn: z.boolean().nullish(),
  }),
  z.object({
    type: z.literal('reasoning'),
    ...common,
    summary: z.array(Part),
    content: z.array(Part).nullish(),
    encrypted_content: z.string().nullish(),
  }),
  z.object({ type: z.literal('function_call'), ...call, arguments: z.string() }),
  z.object({ type: z.literal('custom_tool_call'), ...call, input: z.string() }),
  z.object({ type: z.enum(['function_call_output', 'custom_tool_call_output']), ...output }),
  z.object({
    type: z.literal('local_shell_call'),
    ...common,
    call_id: z.string().nullish(),
    action: z.object({
      type: z.literal('exec'),
      command: z.array(z.string()),
      timeout_ms: z.number().nullish(),
      working_directory: z.string().nullish(),
      env: AnyObject.nullish(),
      user: z.string().nullish(),
    }),
  }),
  z.object({
    type: z.literal('local_shell_call_output'),
    ...common,
    call_id: z.string().nullish(),
    output: Content,
  }),
  z.object({
    type: z.literal('tool_search_call'),
    ...common,
    call_id: z.string().nullish(),
    execution: z.literal('client'),
    arguments: z.unknown(),
  }),
  z.object({
    type: z.literal('tool_search_output'),
    ...common,
    call_id: z.string().nullish(),
    execution: z.literal('client'),
    tools: z.array(Tool),
  }),
  z.object({ type: z.literal('additional_tools'), ...common, role: z.string().optional(), tools: z.array(Tool) }),
  z.object({
    type: z.enum(['compaction', 'compaction_summary', 'context_compaction']),
    ...common,
    encrypted_content: z.string().nullish(),
  }),
  z.object({ type: z.literal('compaction_trigger') }),
]);

/** The accepted fields of a request to the Responses API; other keys are dropped. */
export const ResponsesBody = z.object({
  model: z.string(),
  instructions: z.string().nullish(),
  input: z.union([z.string(), z.array(Item)]),
  tools: z.array(Tool).nullish(),
  tool_choice: z
    .union([z.enum(['auto', 'none', 'required']), z.object({ type: z.enum(['function', 'custom']), name: z.string() })])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: z
    .object({ effort: z.string().nullish(), summary: z.string().nullish(), context: z.string().nullish() })
    .nullish(),
  // The provider stores nothing, so that nothing can be retrieved from it later.
  store: z
    .unknown()
    .optional()
    .transform(() => false),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_obfuscation: z.boolean().optional() }).nullish(),
  include: z
    .array(z.string())
    .nullish()
    .transform((names) => names?.filter((name) => name === 'reasoning.encrypted_content')),
  prompt_cache_key: z.string().nullish(),
  client_metadata: z.record(z.string(), z.string()).nullish(),
  text: z
    .object({
      verbosity: z.string().nullish(),
      format: z
        .discriminatedUnion('type', [
          z.object({ type: z.enum(['text', 'json_object']) }),
          JsonSchemaFormat.extend({ type: z.literal('json_schema') }),
        ])
        .nullish(),
    })
    .nullish(),
  max_output_tokens: Tokens.nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  previous_response_id: Unsupported,
  conversation: Unsupported,
  prompt: Unsupported,
  background: Unsupported,
});
