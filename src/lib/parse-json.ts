import { jsonTokens } from './json-tokens.ts';

/** More than any document has that a stranger sends, and few enough for every check of them. */
const MOST_VALUES = 100_000;
const DEEPEST = 200;

/** The value of a JSON text, or undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** As `parseJson`, for text that others wrote: also undefined when `isExcessive`. */
export function parseForeignJson(text: string): unknown {
  return isExcessive(text) ? undefined : parseJson(text);
}

/**
 * Whether a text has more than 100,000 values or 200 levels, if it is JSON. A schema makes an issue of each value that
 * does not fit: for a few megabytes of them a process has not memory enough.
 */
export function isExcessive(text: string): boolean {
  // So short a text can be neither.
  if (text.length <= DEEPEST) return false;
  let values = 0;
  let depth = 0;
  for (const token of jsonTokens(text)) {
    if (token === '}' || token === ']') depth--;
    else if (token === '{' || token === '[') depth++;
    if (token === '{' || token === '[' || token === ',') values++;
    if (depth > DEEPEST || values > MOST_VALUES) return true;
  }
  return false;
}
