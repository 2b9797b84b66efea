/**
 * The line, counted from 1, that sets a dotted key in a TOML text; that of the nearest table around it when the key
 * stands inside an inline table; undefined when neither is found. The text is known to be valid.
 */
export function findTomlLine(text: string, key: string): number | undefined {
  let table = '';
  let best: { line: number; length: number } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const header = /^\s*\[\s*([^[\]]+?)\s*\]/.exec(line);
    if (header !== null) table = normalise(header[1] ?? '');
    const name = header === null ? /^\s*([\w"'.\- ]+?)\s*=/.exec(line)?.[1] : '';
    if (name === undefined) continue;
    const path = [table, normalise(name)].filter((part) => part !== '').join('.');
    const covers = path === key || key.startsWith(`${path}.`);
    if (covers && path !== '' && path.length > (best?.length ?? 0)) best = { line: index + 1, length: path.length };
  }
  return best?.line;
}

/** `a . "b.c"` as `a.b.c`. */
function normalise(path: string): string {
  return (path.match(/"[^"]*"|'[^']*'|[^."']+/g) ?? [])
    .map((part) => part.trim().replace(/^(["'])(.*)\1$/, '$2'))
    .filter((part) => part !== '')
    .join('.');
}
