/** Deeper than any request that an agent makes, and shallow enough for every walk over it. */
const MAX_DEPTH = 100;

/** Parses JSON that every reader reads alike; else says, as the end of a sentence, what is wrong with it. */
export function parseStrictJson(text: string): { value: unknown } | { fault: string } {
  let value: unknown;
  try {
    value = JSON.parse(text) as unknown;
  } catch {
    return { fault: 'is not JSON' };
  }
  const fault = findAmbiguity(text);
  return fault === undefined ? { value } : { fault };
}

interface Level {
  /** Keys of an object so far; undefined in an array. */
  keys: Set<string> | undefined;
  /** Whether the next string is a key. */
  atKey: boolean;
}

/** Walks over text that is JSON already: two readers may differ over a key that stands twice in one object. */
function findAmbiguity(text: string): string | undefined {
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],]/g;
  const levels: Level[] = [];
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const level = levels.at(-1);
    switch (match[0]) {
      case '{':
      case '[': {
        if (levels.length >= MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
        const isObject = match[0] === '{';
        levels.push({ keys: isObject ? new Set() : undefined, atKey: isObject });
        break;
      }
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (level?.keys !== undefined) level.atKey = true;
        break;
      default: {
        if (level?.keys === undefined || !level.atKey) break;
        level.atKey = false;
        // Escapes count as what they stand for.
        const key = JSON.parse(match[0]) as string;
        if (key === '__proto__') return 'holds the key "__proto__"';
        if (level.keys.has(key)) return `holds the key ${JSON.stringify(key.slice(0, 60))} twice in one object`;
        level.keys.add(key);
      }
    }
  }
  return undefined;
}
