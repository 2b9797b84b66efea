/** `{`, `}`, `[`, `]`, `,`, or a string with its quotes, as it stands in the text. */
export type JsonToken = string;

/**
 * The brackets, commas and strings of a text that claims to be JSON, in one pass and without a stack, whatever it holds.
 * Ends before a string that has no end.
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

/** Where the quote is that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((end - before) % 2 === 1) return end;
  }
  return -1;
}
