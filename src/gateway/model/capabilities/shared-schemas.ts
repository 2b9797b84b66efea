import * as z from 'zod';

/** Pictures that all providers read; sound and films are priced apart, and are no part of anything here. */
export const PictureType = z.enum(['image/png', 'image/jpeg', 'image/jpg', 'image/webp', 'image/gif']);

/** A picture that is in the request itself; any other URL would make the provider fetch it. */
export const PictureUrl = z.string().regex(/^data:image\/(png|jpe?g|webp|gif);base64,/i);

/** A number of tokens. */
export const Tokens = z.number().int().positive();

/** A JSON schema or the arguments of a tool: data that the provider only hands on. */
export const AnyObject = z.record(z.string(), z.unknown());

/** A feature that is refused: it may be absent, null or empty, and is left out then. */
export const Refused = z
  .union([z.null(), z.literal(false), z.array(z.never()).length(0)])
  .optional()
  .transform(() => undefined);

/** JSON schema answers, as both OpenAI APIs name them. */
export const JsonSchemaFormat = z.object({
  name: z.string(),
  description: z.string().optional(),
  schema: AnyObject,
  strict: z.boolean().nullish(),
});

export const Grammar = z.object({ syntax: z.string(), definition: z.string() });
