/**
 * Returns a function that maps a dotted key to its line, counted from 1, in a valid TOML text. For a key in an inline
 * table it returns the line of the enclosing table; undefined if neither is found.
 */
export function indexTomlLines(text: string): (key: string) => number | undefined {
  const lines = new Map<string, number>();
  let table = '';
  for (const [index, whole] of text.split('\n').entries()) {
    const line = whole.trim();
    const header = /^\[([^[\]]+)\]/.exec(line);
    if (header !== null) table = normalise(header[1] ?? '');
    const name = header === null ? /^([\w"'.\- \t]+)=/.exec(line)?.[1] : '';
    if (name === undefined) continue;
    const path = [table, normalise(name)].filter((part) => part !== '').join('.');
    if (path !== '' && !lines.has(path)) lines.set(path, index + 1);
  }
  return (key) => {
    const short = key.slice(0, MAX_KEY_LENGTH);
    for (let end = key.length; end > 0; end = short.lastIndexOf('.', end - 1)) {
      const line = lines.get(key.slice(0, end));
      if (line !== undefined) return line;
    }
    return undefined;
  };
}

/** Longer than any known key; bounds the lookup of keys with thousands of parts. */
const MAX_KEY_LENGTH = 500;

/** Converts `a . "b.c"` to `a.b.c`. */
function normalise(path: string): string {
  return (path.match(/"[^"]*"|'[^']*'|[^."']+/g) ?? [])
    .map((part) => part.trim().replace(/^(["'])(.*)\1$/, '$2'))
    .filter((part) => part !== '')
    .join('.');
}
