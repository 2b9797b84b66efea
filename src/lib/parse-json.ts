/** Limits for untrusted documents. */
const MAX_JSON_VALUES = 100_000;
const MAX_JSON_DEPTH = 200;

/** Parses JSON; undefined if the text is not valid. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Parses untrusted JSON; also undefined if it exceeds the limits. */
export function parseUntrustedJson(text: string): unknown {
  return exceedsJsonLimits(text) ? undefined : tryParseJson(text);
}

/**
 * Whether a JSON text has more than 100,000 values or 200 levels. Schema validation creates an issue for each invalid
 * value, which could exhaust memory for a document of a few megabytes.
 */
export function exceedsJsonLimits(text: string): boolean {
  if (text.length <= MAX_JSON_DEPTH) return false;
  let values = 0;
  let depth = 0;
  for (const token of jsonTokens(text)) {
    if (token === '}' || token === ']') depth--;
    else if (token === '{' || token === '[') depth++;
    if (token === '{' || token === '[' || token === ',') values++;
    if (depth > MAX_JSON_DEPTH || values > MAX_JSON_VALUES) return true;
  }
  return false;
}

/** `{`, `}`, `[`, `]`, `,`, or a string with its quotes, as written in the text. */
type JsonToken = string;

/**
 * Yields the brackets, commas and strings of a possibly invalid JSON text in one pass, without a stack. Stops at an
 * unterminated string.
 */
export function* jsonTokens(text: string): Generator<JsonToken> {
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (end < 0) return;
        yield text.slice(at, end + 1);
        at = end;
        break;
      }
      case OPEN_OBJECT:
      case CLOSE_OBJECT:
      case OPEN_ARRAY:
      case CLOSE_ARRAY:
      case COMMA:
        yield text.charAt(at);
    }
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Index of the closing quote of the string that starts at `start`, or -1. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((end - before) % 2 === 1) return end;
  }
  return -1;
}
