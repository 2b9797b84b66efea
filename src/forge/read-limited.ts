import { HaloError } from '../core/failure/errors.ts';
import { tryParseJson } from '../lib/parse-json.ts';

/** Reads the JSON of a response; undefined if it is not JSON. Throws FORGE_FAILED if it is longer than `maxBytes`. */
export async function readLimited(response: Response, maxBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > maxBytes)
      throw new HaloError('FORGE_FAILED', `A response of the forge is longer than ${maxBytes} bytes.`, {
        hint: 'Use a label that fewer issues have.',
      });
    chunks.push(chunk as Uint8Array);
  }
  return tryParseJson(Buffer.concat(chunks).toString('utf8'));
}
