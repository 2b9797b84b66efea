/** What `halo engine add` writes into config.toml. */
export interface EngineEntry {
  name: string;
  address: string;
  slots?: number | undefined;
  labels?: readonly string[] | undefined;
  repositories?: readonly string[] | undefined;
  users?: readonly string[] | undefined;
}

/** The host of a `tcp://` address, without brackets; undefined for a socket. */
export function hostOfAddress(address: string): string | undefined {
  const host = /^tcp:\/\/(\[[^\]]+\]|[^:/]+):\d+$/.exec(address)?.[1];
  return host?.replace(/^\[(.*)\]$/, '$1');
}

/** Adds an entry to the text of config.toml, or replaces the one with its name. The rest stays as it is. */
export function withEntry(text: string, entry: EngineEntry): string {
  const rest = withoutEntry(text, entry.name);
  const lines = Object.entries(entry).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key} = ${JSON.stringify(value)}`],
  );
  const start = rest.trimEnd();
  return `${start}${start === '' ? '' : '\n\n'}[[engines]]\n${lines.join('\n')}\n`;
}

/** Removes the entry with this name; other text stays as it is, also comments between it and the next table. */
export function withoutEntry(text: string, name: string): string {
  const parts = text.split(/^(?=[ \t]*\[)/m);
  return parts.map((part) => (nameOf(part) === name ? commentsAfter(part) : part)).join('');
}

/** The comments at the end of a table, from the first one after an empty line on: they belong to what follows. */
function commentsAfter(part: string): string {
  return /(?<=\n)[ \t]*\r?\n((?:[ \t]*(?:#.*)?\r?\n)*(?:[ \t]*#.*)?)$/.exec(part)?.[1] ?? '';
}

/** The name in the text of an entry; undefined for other text. */
function nameOf(part: string): string | undefined {
  if (!/^[ \t]*\[\[[ \t]*engines[ \t]*\]\]/.test(part)) return undefined;
  return /^[ \t]*name[ \t]*=[ \t]*["']([^"']*)["'][ \t]*(?:#.*)?$/m.exec(part)?.[1];
}

/** Whether a command for a shell can contain the address of a server as it is. */
export function isPlainUrl(text: string): boolean {
  return /^https?:\/\/(?:[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d{1,5})?(?:\/[\w./-]*)?$/.test(text);
}
