import * as z from 'zod';
import { AnyObject, ImageType, Unsupported, Tokens } from './shared-schemas.ts';

const thought = { thought: z.boolean().optional(), thoughtSignature: z.string().optional() };

const FileType = z.union([ImageType, z.enum(['application/pdf', 'text/plain'])]);
/** Only images and files inside the request. `fileData`, which contains a URL, is not accepted. */
const InlineData = z.object({ inlineData: z.object({ mimeType: FileType, data: z.string() }), ...thought });

const Part = z.union([
  z.object({ text: z.string(), ...thought }),
  InlineData,
  z.object({
    functionCall: z.object({ id: z.string().optional(), name: z.string(), args: AnyObject.optional() }),
    ...thought,
  }),
  z.object({
    functionResponse: z.object({
      id: z.string().optional(),
      name: z.string(),
      response: AnyObject,
      parts: z.array(InlineData).optional(),
    }),
    ...thought,
  }),
]);

const Content = z.object({ role: z.enum(['user', 'model', 'function']).optional(), parts: z.array(Part) });

/**
 * Functions that the agent itself executes. Search, code execution, URL context and similar tools, which the provider
 * executes, are not accepted.
 */
const Tool = z.strictObject({
  functionDeclarations: z.array(
    z.object({
      name: z.string(),
      description: z.string().optional(),
      parameters: AnyObject.optional(),
      parametersJsonSchema: AnyObject.optional(),
      response: AnyObject.optional(),
      responseJsonSchema: AnyObject.optional(),
    }),
  ),
});

const GenerationConfig = z.object({
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: z.number().optional(),
  candidateCount: z.literal(1).optional(),
  maxOutputTokens: Tokens.optional(),
  stopSequences: z.array(z.string()).optional(),
  seed: z.number().optional(),
  presencePenalty: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  responseMimeType: z.enum(['text/plain', 'application/json']).optional(),
  responseSchema: AnyObject.optional(),
  responseJsonSchema: AnyObject.optional(),
  thinkingConfig: z
    .object({
      includeThoughts: z.boolean().optional(),
      thinkingBudget: z.number().int().optional(),
      thinkingLevel: z.string().optional(),
    })
    .optional(),
});

const shape = {
  contents: z.array(Content),
  systemInstruction: Content.optional(),
  tools: z.array(Tool).optional(),
  toolConfig: z
    .object({
      functionCallingConfig: z
        .object({ mode: z.string().optional(), allowedFunctionNames: z.array(z.string()).optional() })
        .optional(),
    })
    .optional(),
  generationConfig: GenerationConfig.optional(),
  cachedContent: Unsupported,
};

/** The accepted fields of a Gemini request; other keys are dropped. */
export const GenerateContentBody = z.object(shape);

/**
 * The accepted fields of a request to count tokens. The nested form is not accepted, because it repeats the model of
 * the path.
 */
export const CountGeminiTokensBody = z.object({ contents: shape.contents });
