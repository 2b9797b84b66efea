import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import type { Node } from 'yaml';
import { HaloError } from '../../core/failure/errors.ts';
import { lineFinder, PositionedValue, type JsonValue, type ValueParent } from './json-positions.ts';

/** YAML is read slower than JSON; longer lists of tasks are written by programs. */
const MAX_YAML_BYTES = 512 * 1024;
const MAX_DEPTH = 64;

/**
 * Parses YAML 1.2 to the same tree as JSON, with the place of each value. Anchors and aliases, tags, several documents and
 * repeated keys are refused: a list of tasks needs none of them. `shift`: the offset of the text in its file. Throws PRD_INVALID with the line.
 */
export function parseYamlWithPositions(text: string, path: string, shift = 0): JsonValue {
  const lineOf = lineFinder(text);
  const fail = (offset: number, what: string) => {
    const line = lineOf(offset);
    return new HaloError('PRD_INVALID', `${path}:${line}: The text is not YAML that halo reads: ${what}.`, {
      hint: 'Fix the syntax there, or convert the file with `yq -o json`.',
      problems: [{ line, where: '', rule: what }],
    });
  };
  if (text.length > MAX_YAML_BYTES) throw fail(0, `the file has more than ${MAX_YAML_BYTES / 1024} KiB`);
  const deep = findDeepLine(text);
  if (deep !== undefined) throw fail(deep, `more than ${MAX_DEPTH} levels`);
  // Few PRDs are YAML, and its modules take as long to load as all others of a submit.
  const { isAlias, isMap, isScalar, isSeq, parseDocument } = createRequire(import.meta.url)('yaml') as typeof Yaml;
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    prettyErrors: false,
    keepSourceTokens: false,
  });
  const [error] = document.errors;
  if (error !== undefined) throw fail(error.pos[0], firstSentence(error.message));
  const convert = (node: Node | null, at: { offset: number; keyOffset?: number; parent?: ValueParent }): JsonValue => {
    const [offset = at.offset, end = at.offset] = node?.range ?? [];
    const { keyOffset } = at;
    const place = {
      offset: offset + shift,
      end: end + shift,
      keyOffset: keyOffset === undefined ? undefined : keyOffset + shift,
    };
    const { parent } = at;
    if (isAlias(node) || node?.anchor !== undefined) throw fail(offset, 'anchors and aliases are not supported');
    if (node?.tag !== undefined) throw fail(offset, 'tags are not supported');
    if (isSeq(node)) {
      const list = new PositionedValue('array', place, { parent });
      list.items = node.items.map((item, key) =>
        convert(item as Node | null, { offset: end, parent: { value: list, key } }),
      );
      return list;
    }
    if (isMap(node)) {
      const object = new PositionedValue('object', place, { parent });
      const members = new Map<string, JsonValue>();
      for (const { key, value } of node.items) {
        if (!isScalar(key) || !key.range) throw fail(offset, 'a key must be a text');
        const [keyOffset, keyEnd] = key.range;
        if (key.anchor !== undefined || key.tag !== undefined) throw fail(keyOffset, 'a key must be a text');
        const name = typeof key.value === 'string' ? key.value : text.slice(keyOffset, keyEnd);
        // A key in braces may have neither a colon nor a value.
        const [colon = ''] = /^[ \t]*:/.exec(text.slice(keyEnd, keyEnd + 1000)) ?? [];
        const after = { offset: keyEnd + colon.length, keyOffset, parent: { value: object, key: name } };
        members.set(name, convert(value as Node | null, after));
      }
      object.members = members;
      return object;
    }
    const scalar: unknown = isScalar(node) ? node.value : null;
    const isPlain = scalar === null || ['string', 'number', 'boolean'].includes(typeof scalar);
    const kind = scalar === null ? 'null' : isPlain ? (typeof scalar as 'string' | 'number' | 'boolean') : 'string';
    const digits = kind === 'number' ? text.slice(offset, end) : '';
    return new PositionedValue(kind, place, { parent, digits, scalar: isPlain ? scalar : text.slice(offset, end) });
  };
  return convert(document.contents, { offset: 0 });
}

/** The offset of a line that is nested deeper than the limit: the parser calls itself for each level. */
function findDeepLine(text: string): number | undefined {
  let offset = 0;
  let brackets = 0;
  for (const line of text.split('\n')) {
    const start = /^(?:[ \t]*[-?](?=[ \t]))*[ \t]*/.exec(line)?.[0] ?? '';
    const dashes = start.replace(/[^-?]/g, '').length;
    brackets += line.split(/[[{]/).length - line.split(/[\]}]/).length;
    const spaces = start.replace(/[-?\t]/g, '').length;
    if (dashes > MAX_DEPTH || brackets > MAX_DEPTH || spaces > MAX_DEPTH * 8) return offset;
    offset += line.length + 1;
  }
  return undefined;
}

function firstSentence(message: string): string {
  const [first = ''] = message.split('\n');
  return `${first.slice(0, 1).toLowerCase()}${first.slice(1)}`.replace(/[.:]$/, '').slice(0, 200);
}

/** True for a text that is a list of tasks in YAML: its name says so, or a top-level key has a list or map of stories. */
export function isYaml(text: string, path: string, keys: readonly string[]): boolean {
  if (/^\s*[-*+] \[[ xX]\]/m.test(text)) return false;
  // Front matter of a Markdown file.
  if (/^---\s*\n/.test(text) && /\n(?:---|\.\.\.)[ \t]*\r?\n\s*\S/.test(text)) return false;
  if (/\.ya?ml$/i.test(path)) return true;
  const key = new RegExp(
    `^(?:${keys.join('|')}):[ \\t]*(?:#.*)?\\r?$(?:\\n[ \\t]*(?:#.*)?\\r?$)*\\n[ \\t]*(?:- )?[\\w-]+:(?: |\\r?$)`,
    'm',
  );
  return key.test(text);
}
