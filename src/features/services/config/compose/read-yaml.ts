import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit, type Alias, type Node } from 'yaml';

/** A value of a YAML file, with its line. A text has no meaning beyond its characters, but `plain` says what YAML reads. */
export type YamlValue = { line: number } & (
  | { kind: 'text'; text: string; plain: 'string' | 'number' | 'boolean' | 'null' }
  | { kind: 'list'; items: YamlValue[] }
  | { kind: 'map'; entries: Map<string, YamlValue> }
);

export type YamlMap = Extract<YamlValue, { kind: 'map' }>;

/** Why a text is not read. */
export interface YamlFault {
  line: number;
  says: string;
}

/** A file of people is far below these limits; one with aliases of aliases, or a deep one, costs no more than they allow. */
export const MAX_YAML_BYTES = 32 * 1024;
const MAX_VALUES = 5000;
const MAX_DEPTH = 24;

/**
 * Reads one YAML document with anchors, aliases and merge keys (`<<`). Returns the first fault instead if it is not valid,
 * has a key twice, or exceeds a limit.
 */
export function readYaml(text: string): YamlValue | YamlFault {
  if (Buffer.byteLength(text) > MAX_YAML_BYTES)
    return { line: 1, says: `the file has more than ${MAX_YAML_BYTES / 1024} KiB` };
  const deep = findDeepLine(text);
  if (deep !== undefined) return { line: deep, says: `more than ${MAX_DEPTH} levels` };
  const lines = new LineCounter();
  // Keys are compared below: the parser would compare each with each.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'silent',
  });
  const [error] = document.errors;
  if (error !== undefined) return { line: lines.linePos(error.pos[0]).line, says: firstSentence(error.message) };
  const reader = new Reader(resolveAliases(document.contents), lines);
  const value = reader.read(document.contents, { line: 1, depth: 0 });
  return reader.fault ?? value;
}

/** After its first fault, a reader reads nothing more. */
class Reader {
  readonly #targets: ReadonlyMap<Alias, Node>;
  readonly #lines: LineCounter;
  #left = MAX_VALUES;
  fault: YamlFault | undefined;

  constructor(targets: ReadonlyMap<Alias, Node>, lines: LineCounter) {
    this.#targets = targets;
    this.#lines = lines;
  }

  /** Every use of an alias counts as what it stands for. */
  read(node: Node | null, place: { line: number; depth: number }): YamlValue {
    const line = this.#lineOf(node) ?? place.line;
    const at = { line, depth: place.depth + 1 };
    this.#left -= 1;
    if (this.#left < 0) return this.#fail(line, `more than ${MAX_VALUES} values, with what its aliases stand for`);
    if (at.depth > MAX_DEPTH) return this.#fail(line, `more than ${MAX_DEPTH} levels`);
    if (isAlias(node)) {
      const target = this.#targets.get(node);
      if (target === undefined) return this.#fail(line, `there is no anchor ${node.source}`);
      return { ...this.read(target, at), line };
    }
    if (isSeq(node))
      return { line, kind: 'list', items: this.#each(node.items, (item) => this.read(item as Node | null, at)) };
    if (isMap(node)) return this.#readMap(node.items, at);
    const value: unknown = isScalar(node) ? node.value : null;
    if (value === null) return { line, kind: 'text', plain: 'null', text: '' };
    if (typeof value === 'string') return { line, kind: 'text', plain: 'string', text: value };
    if (typeof value !== 'number' && typeof value !== 'boolean')
      return this.#fail(line, 'a value that is neither text, number, list nor map');
    const written = isScalar(node) && typeof value === 'number' ? node.source : undefined;
    return {
      line,
      kind: 'text',
      plain: typeof value === 'number' ? 'number' : 'boolean',
      text: written ?? String(value),
    };
  }

  /** What a map says itself counts more than what it takes over with `<<`. */
  #readMap(items: readonly { key: unknown; value: unknown }[], place: { line: number; depth: number }): YamlValue {
    const own = new Map<string, YamlValue>();
    const taken = new Map<string, YamlValue>();
    this.#each(items, ({ key, value }) => {
      const line = (isScalar(key) ? this.#lineOf(key) : undefined) ?? place.line;
      const name =
        isScalar(key) && ['string', 'number', 'boolean'].includes(typeof key.value) ? String(key.value) : undefined;
      if (name === undefined) return void this.#fail(line, 'a key that is not a text');
      if (own.has(name)) return void this.#fail(line, `the key ${JSON.stringify(name.slice(0, 50))} is there twice`);
      const read = this.read(value as Node | null, { line, depth: place.depth });
      if (name === '<<') this.#takeOver(read, taken);
      else own.set(name, { ...read, line });
    });
    return { line: place.line, kind: 'map', entries: new Map([...taken, ...own]) };
  }

  #takeOver(value: YamlValue, into: Map<string, YamlValue>): void {
    for (const each of value.kind === 'list' ? value.items : [value]) {
      if (each.kind !== 'map') return void this.#fail(value.line, '<< takes over a map, or a list of maps');
      for (const [name, member] of each.entries) if (!into.has(name)) into.set(name, member);
    }
  }

  /** Until the first fault. */
  #each<T, R>(items: readonly T[], read: (item: T) => R): R[] {
    const results: R[] = [];
    for (const item of items) {
      if (this.fault !== undefined) break;
      results.push(read(item));
    }
    return results;
  }

  #lineOf(node: Node | null): number | undefined {
    return node?.range ? this.#lines.linePos(node.range[0]).line : undefined;
  }

  #fail(line: number, says: string): YamlValue {
    this.fault ??= { line, says };
    return { line, kind: 'text', plain: 'null', text: '' };
  }
}

/** What each alias stands for: the last node before it with its anchor. */
function resolveAliases(contents: Node | null): Map<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(contents, {
    Node: (_, node) => {
      const target = isAlias(node) ? anchors.get(node.source) : undefined;
      if (isAlias(node) && target !== undefined) targets.set(node, target);
      if (!isAlias(node) && node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

/** The line that is nested deeper than the limit: the parser calls itself for each level. */
function findDeepLine(text: string): number | undefined {
  let brackets = 0;
  for (const [index, line] of text.split('\n').entries()) {
    const start = /^[ \t?-]*/.exec(line)?.[0] ?? '';
    brackets += line.split(/[[{]/).length - line.split(/[\]}]/).length;
    const dashes = start.replace(/[^?-]/g, '').length;
    if (line.split(/[[{]/).length > MAX_DEPTH || dashes > MAX_DEPTH || brackets > MAX_DEPTH) return index + 1;
    if (start.length - dashes > MAX_DEPTH * 8) return index + 1;
  }
  return undefined;
}

function firstSentence(message: string): string {
  const [first = ''] = message.split('\n');
  return `${first.slice(0, 1).toLowerCase()}${first.slice(1)}`.replace(/[.:]$/, '').slice(0, 200);
}
