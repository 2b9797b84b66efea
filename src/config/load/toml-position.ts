/**
 * Finds the line, counted from 1, that sets a dotted key in a TOML text; that of the nearest table around it when the
 * key stands inside an inline table; undefined when neither is found. The text is known to be valid.
 */
export function openTomlLines(text: string): (key: string) => number | undefined {
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
    const short = key.slice(0, LONGEST_KEY);
    for (let end = key.length; end > 0; end = short.lastIndexOf('.', end - 1)) {
      const line = lines.get(key.slice(0, end));
      if (line !== undefined) return line;
    }
    return undefined;
  };
}

/** No setting has a longer name: of a key made of thousands of parts only as much is looked for. */
const LONGEST_KEY = 500;

/** `a . "b.c"` as `a.b.c`. */
function normalise(path: string): string {
  return (path.match(/"[^"]*"|'[^']*'|[^."']+/g) ?? [])
    .map((part) => part.trim().replace(/^(["'])(.*)\1$/, '$2'))
    .filter((part) => part !== '')
    .join('.');
}
