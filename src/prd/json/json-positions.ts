import { parseTree, printParseErrorCode, type Node, type ParseError, type ParseOptions } from 'jsonc-parser';
import { HaloError } from '../../core/failure/errors.ts';
import type { Diagnostics, SourceLocation } from '../diagnostics.ts';
import { DEPENDENCY_KEYS, DONE_KEYS, ID_KEYS } from './field-aliases.ts';

/** A JSON value with its position in the file. */
export interface JsonValue extends SourceLocation {
  kind: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';
  /** The plain value. Integers in it that would lose precision are strings. */
  value: unknown;
  /** The source text of a number; empty for other kinds. */
  digits: string;
  /** Offset after its last character. */
  end: number;
  /** Offset of its key, for a member of an object. */
  keyOffset: number | undefined;
  /** The members of an object; empty for other kinds. */
  members: ReadonlyMap<string, JsonValue>;
  /** The items of a list; empty for other kinds. */
  items: readonly JsonValue[];
}

const STRICT: ParseOptions = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false };
const MAX_DEPTH = 64;
const MAX_VALUES = 150_000;
const MAX_SHOWN = 10;

/**
 * Parses strict JSON. Raw control characters in strings and duplicate keys are accepted with a warning; a duplicate key
 * with a different value is a problem if the value is an object or a list, or the key decides what runs.
 * Throws PRD_INVALID with line and column for any other syntax error.
 */
export function parseJsonWithPositions(text: string, path: string, diagnostics: Diagnostics): JsonValue {
  const lineOf = lineFinder(text);
  const fail = (offset: number, what: string) => {
    const line = lineOf(offset);
    const column = offset - text.lastIndexOf('\n', offset - 1);
    return new HaloError('PRD_INVALID', `${path}:${line}:${column}: The text is not valid JSON: ${what}.`, {
      hint: 'Fix the syntax there; JSON allows no comments, no trailing commas and only double quotes.',
      problems: [{ line, where: `column ${column}`, rule: what }],
    });
  };
  const excess = findExcess(text);
  if (excess !== undefined) throw fail(excess.offset, excess.what);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, STRICT);
  const named = errors.map(({ error, offset }) => ({ name: printParseErrorCode(error), offset }));
  const error = named.find(({ name }) => name !== 'InvalidCharacter');
  if (error !== undefined) throw fail(error.offset, ERROR_TEXTS[error.name] ?? 'unexpected character');
  if (root === undefined) throw fail(0, 'a value is missing');
  if (errors.length > 0) {
    const lines = new Set(errors.slice(0, 20).map(({ offset }) => lineOf(offset)));
    diagnostics.warnings.push({
      story: undefined,
      text: `raw control characters in a string, line ${[...lines].join(', ')}`,
    });
  }
  const source: SourceText = { text, diagnostics, twice: [] };
  const value = toJsonValue(root, { where: '', keyOffset: undefined }, source);
  warnOfDuplicateKeys(lineOf, source);
  return value;
}

/** Returns a function that finds the line of an offset, counted from 1. The text is searched once, whatever the number of calls. */
export function lineFinder(text: string): (offset: number) => number {
  let breaks: number[] | undefined;
  return (offset) => {
    breaks ??= findBreaks(text);
    let [from, to] = [0, breaks.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((breaks[middle] ?? 0) < offset) from = middle + 1;
      else to = middle;
    }
    return from + 1;
  };
}

function findBreaks(text: string): number[] {
  const breaks: number[] = [];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) breaks.push(at);
  return breaks;
}

/**
 * Checks nesting depth and number of values before parsing: deep nesting overflows the stack, and millions of values
 * take minutes.
 */
function findExcess(text: string): { offset: number; what: string } | undefined {
  let depth = 0;
  let values = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') inString = !inString;
    else if (inString && character === '\\') at++;
    else if (character === '\n') inString = false;
    else if (inString) continue;
    else if (character === ',') values++;
    else if (character === '[' || character === '{') depth++;
    else if (character === ']' || character === '}') depth--;
    if (depth > MAX_DEPTH) return { offset: at, what: `more than ${MAX_DEPTH} levels of brackets` };
    if (values > MAX_VALUES) return { offset: at, what: `more than ${MAX_VALUES} values` };
  }
  return undefined;
}

interface Position {
  where: string;
  keyOffset: number | undefined;
}

interface SourceText {
  text: string;
  diagnostics: Diagnostics;
  /** Duplicate keys that are only worth a warning. */
  twice: SourceLocation[];
}

function toJsonValue(node: Node, { where, keyOffset }: Position, source: SourceText): JsonValue {
  const { offset } = node;
  const place = { where, offset, end: offset + node.length, keyOffset, digits: '' };
  if (node.type === 'array') {
    const items = (node.children ?? []).map((child, index) =>
      toJsonValue(child, { where: `${where}[${index}]`, keyOffset: undefined }, source),
    );
    return { ...place, kind: 'array', value: items.map(plainOf), members: NONE, items };
  }
  if (node.type === 'object') {
    const members = toMembers(node, where, source);
    const value = Object.fromEntries([...members].map(([key, member]) => [key, plainOf(member)]));
    return { ...place, kind: 'object', value, members, items: [] };
  }
  const kind = node.type === 'property' ? 'null' : node.type;
  const digits = kind === 'number' ? source.text.slice(offset, place.end) : '';
  return { ...place, digits, kind, value: node.value as unknown, members: NONE, items: [] };
}

/** Returns the plain value; an integer that would lose precision is returned as a string. */
export function plainOf({ value, digits }: JsonValue): unknown {
  return /^-?\d+$/.test(digits) && !Number.isSafeInteger(value) ? digits : value;
}

function toMembers(object: Node, where: string, source: SourceText): Map<string, JsonValue> {
  const members = new Map<string, JsonValue>();
  for (const { children = [] } of object.children ?? []) {
    const [key, child] = children;
    if (key === undefined || child === undefined) continue;
    const name = String(key.value);
    const place = where === '' ? name : `${where}.${name}`;
    const earlier = members.get(name);
    const member = toJsonValue(child, { where: place, keyOffset: key.offset }, source);
    if (earlier !== undefined) reportDuplicateKey(name, [earlier, member], source);
    members.set(name, member);
  }
  return members;
}

/** Keys of scalar values that decide what runs. */
const DECISIVE = new Set([...ID_KEYS, ...DONE_KEYS, ...DEPENDENCY_KEYS]);

function reportDuplicateKey(
  name: string,
  [first, second]: [JsonValue, JsonValue],
  { diagnostics, twice }: SourceText,
): void {
  const matters = [first, second].some(({ kind }) => kind === 'array' || kind === 'object') || DECISIVE.has(name);
  const differs = JSON.stringify(first.value) !== JSON.stringify(second.value);
  const { where, keyOffset = 0 } = second;
  if (matters && differs) {
    const rule = 'duplicate key with a different value';
    diagnostics.problems.push({ where, offset: keyOffset, rule });
  } else {
    twice.push({ where, offset: keyOffset });
  }
}

function warnOfDuplicateKeys(lineOf: (offset: number) => number, { diagnostics, twice }: SourceText): void {
  for (const { where, offset } of twice.slice(0, MAX_SHOWN)) {
    diagnostics.warnings.push({
      story: undefined,
      text: `line ${lineOf(offset)}: duplicate key ${where}; the last value is used`,
    });
  }
  const more = twice.length - MAX_SHOWN;
  if (more > 0)
    diagnostics.warnings.push({ story: undefined, text: `${more} more duplicate keys; the last values are used` });
}

const NONE: ReadonlyMap<string, JsonValue> = new Map();

const ERROR_TEXTS: Record<string, string> = {
  InvalidSymbol: 'unexpected character or word',
  InvalidNumberFormat: 'not a number',
  PropertyNameExpected: 'expected a key in double quotes',
  ValueExpected: 'expected a value',
  ColonExpected: 'expected a colon',
  CommaExpected: 'expected a comma',
  CloseBraceExpected: 'expected a closing }',
  CloseBracketExpected: 'expected a closing ]',
  EndOfFileExpected: 'unexpected text after the end of the document',
  InvalidCommentToken: 'comments are not allowed',
  UnexpectedEndOfComment: 'comments are not allowed',
  UnexpectedEndOfString: 'unterminated string',
  UnexpectedEndOfNumber: 'incomplete number',
  InvalidUnicode: 'incomplete \\u escape',
  InvalidEscapeCharacter: 'unknown escape in a string',
};

/** Returns an id as written in the file. Numbers are not converted: long ones would lose digits, and 1.10 and 1.1 are different ids. */
export function idTextOf({ value, digits }: JsonValue): string {
  return digits === '' ? String(value).trim() : digits;
}
