import { jsonTokens } from '../../lib/parse-json.ts';

/** Deeper than any request of an agent, and shallow enough for recursive functions. */
const MAX_DEPTH = 100;
/** More values than a model can read. Bounded, because each value is checked. */
const MAX_VALUES = 100_000;

/** Parses JSON that every parser interprets alike; otherwise returns the fault as the end of a sentence. */
export function parseStrictJson(text: string): { value: unknown } | { fault: string } {
  try {
    // Checked first, so that a text that is too large or too deep is not parsed.
    const fault = findJsonFault(text);
    return fault === undefined ? { value: JSON.parse(text) as unknown } : { fault };
  } catch {
    return { fault: 'is not JSON' };
  }
}

interface Level {
  /** Keys of an object so far; undefined in an array. */
  keys: Set<string> | undefined;
  /** Whether the next string is a key. */
  atKey: boolean;
}

/** Finds duplicate keys, which parsers interpret differently, and exceeded limits. Throws when a key is not JSON. */
function findJsonFault(text: string): string | undefined {
  const levels: Level[] = [];
  let values = 0;
  for (const token of jsonTokens(text)) {
    if (values > MAX_VALUES) return `holds more than ${MAX_VALUES} values`;
    const level = levels.at(-1);
    switch (token) {
      case '{':
      case '[': {
        if (levels.length >= MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
        values++;
        const isObject = token === '{';
        levels.push({ keys: isObject ? new Set() : undefined, atKey: isObject });
        break;
      }
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        values++;
        if (level?.keys !== undefined) level.atKey = true;
        break;
      default: {
        if (level?.keys === undefined || !level.atKey) break;
        level.atKey = false;
        // Compares keys after decoding their escapes.
        const key = JSON.parse(token) as string;
        if (key === '__proto__') return 'holds the key "__proto__"';
        if (level.keys.has(key)) return `holds the key ${JSON.stringify(key.slice(0, 60))} twice in one object`;
        level.keys.add(key);
      }
    }
  }
  return undefined;
}
