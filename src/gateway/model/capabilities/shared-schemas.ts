import * as z from 'zod';

/** Image types that all providers accept. Audio and video have separate prices and are not supported. */
export const ImageType = z.enum(['image/png', 'image/jpeg', 'image/jpg', 'image/webp', 'image/gif']);

/** An image inside the request. The provider would fetch any other URL. */
export const ImageUrl = z.string().regex(/^data:image\/(png|jpe?g|webp|gif);base64,/i);

/** A number of tokens. */
export const Tokens = z.number().int().positive();

/** A JSON schema or the arguments of a tool: data that the provider does not interpret. */
export const AnyObject = z.record(z.string(), z.unknown());

/** An unsupported feature: it may be absent, null or empty, and is then left out. */
export const Unsupported = z
  .union([z.null(), z.literal(false), z.array(z.never()).length(0)])
  .optional()
  .transform(() => undefined);

/** JSON schema output in both OpenAI APIs. */
export const JsonSchemaFormat = z.object({
  name: z.string(),
  description: z.string().optional(),
  schema: AnyObject,
  strict: z.boolean().nullish(),
});

export const Grammar = z.object({ syntax: z.string(), definition: z.string() });
