import { parseTree, printParseErrorCode, type Node, type ParseError, type ParseOptions } from 'jsonc-parser';
import { HaloError } from '../../core/failure/errors.ts';
import type { Findings, Place } from '../findings.ts';
import { DEPENDENCY_KEYS, DONE_KEYS, ID_KEYS } from './field-aliases.ts';

/** A JSON value that knows where it stands in its file. */
export interface JsonValue extends Place {
  kind: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';
  /** The plain value; whole numbers inside of it that would lose digits are texts. */
  value: unknown;
  /** A number as it is written; of anything else, nothing. */
  digits: string;
  /** Offset behind its last character. */
  end: number;
  /** Offset of its key, for a member of an object. */
  keyOffset: number | undefined;
  /** The members of an object; of anything else, none. */
  members: ReadonlyMap<string, JsonValue>;
  /** The items of a list; of anything else, none. */
  items: readonly JsonValue[];
}

const STRICT: ParseOptions = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false };
const DEEPEST = 64;
const MOST_VALUES = 150_000;
const MOST_SHOWN = 10;

/**
 * Parses strict JSON. Raw control characters inside strings are accepted with a warning; so is the same key twice
 * in one object, unless the two contradict each other in what counts. Throws PRD_INVALID, with line and column,
 * for any other syntax error.
 */
export function parseJson(text: string, path: string, findings: Findings): JsonValue {
  const fail = (offset: number, what: string) => {
    const { line, column } = positionAt(text, offset);
    return new HaloError('PRD_INVALID', `${path}:${line}:${column}: not valid JSON: ${what}`, {
      hint: 'Mend the syntax there; JSON allows no comments, no trailing commas and only double quotes.',
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
    const lines = new Set(errors.slice(0, 20).map(({ offset }) => positionAt(text, offset).line));
    findings.warnings.push({
      story: undefined,
      text: `raw control characters in a string, line ${[...lines].join(', ')}`,
    });
  }
  const source: Source = { text, findings, twice: [] };
  const value = toJsonValue(root, { where: '', keyOffset: undefined }, source);
  warnOfTwice(text, source);
  return value;
}

/** Line and column of an offset, both counted from 1. */
export function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const lastBreak = before.lastIndexOf('\n');
  return { line: before.split('\n').length, column: offset - lastBreak };
}

/**
 * Deep nesting would overflow the stack of the parser and of everything that walks the value later;
 * millions of values would take it minutes.
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
    if (depth > DEEPEST) return { offset: at, what: `more than ${DEEPEST} levels of brackets` };
    if (values > MOST_VALUES) return { offset: at, what: `more than ${MOST_VALUES} values` };
  }
  return undefined;
}

interface Position {
  where: string;
  keyOffset: number | undefined;
}

interface Source {
  text: string;
  findings: Findings;
  /** Keys that are there twice, without a contradiction. */
  twice: Place[];
}

function toJsonValue(node: Node, { where, keyOffset }: Position, source: Source): JsonValue {
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

/** The value of a member for what it is a part of: a whole number that would lose digits stays as it is written. */
export function plainOf({ value, digits }: JsonValue): unknown {
  return /^-?\d+$/.test(digits) && !Number.isSafeInteger(value) ? digits : value;
}

function toMembers(object: Node, where: string, source: Source): Map<string, JsonValue> {
  const members = new Map<string, JsonValue>();
  for (const { children = [] } of object.children ?? []) {
    const [key, child] = children;
    if (key === undefined || child === undefined) continue;
    const name = String(key.value);
    const place = where === '' ? name : `${where}.${name}`;
    const earlier = members.get(name);
    const member = toJsonValue(child, { where: place, keyOffset: key.offset }, source);
    if (earlier !== undefined) reportTwice(name, [earlier, member], source);
    members.set(name, member);
  }
  return members;
}

/** Lists and objects may hold stories; of the others, these decide what is run. */
const DECISIVE = new Set([...ID_KEYS, ...DONE_KEYS, ...DEPENDENCY_KEYS]);

function reportTwice(name: string, [first, second]: [JsonValue, JsonValue], { findings, twice }: Source): void {
  const matters = [first, second].some(({ kind }) => kind === 'array' || kind === 'object') || DECISIVE.has(name);
  const differs = JSON.stringify(first.value) !== JSON.stringify(second.value);
  const { where, keyOffset = 0 } = second;
  if (matters && differs) {
    const rule = 'the key is there twice in one object, with another value';
    findings.problems.push({ where, offset: keyOffset, rule });
  } else {
    twice.push({ where, offset: keyOffset });
  }
}

function warnOfTwice(text: string, { findings, twice }: Source): void {
  for (const { where, offset } of twice.slice(0, MOST_SHOWN)) {
    const { line } = positionAt(text, offset);
    findings.warnings.push({ story: undefined, text: `line ${line}: ${where} is there twice; the last one counts` });
  }
  const more = twice.length - MOST_SHOWN;
  if (more > 0)
    findings.warnings.push({ story: undefined, text: `${more} more keys are there twice; the last ones count` });
}

const NONE: ReadonlyMap<string, JsonValue> = new Map();

const ERROR_TEXTS: Record<string, string> = {
  InvalidSymbol: 'unexpected character or word',
  InvalidNumberFormat: 'not a number',
  PropertyNameExpected: 'a key in double quotes is expected',
  ValueExpected: 'a value is expected',
  ColonExpected: 'a colon is expected',
  CommaExpected: 'a comma is expected',
  CloseBraceExpected: 'a closing } is expected',
  CloseBracketExpected: 'a closing ] is expected',
  EndOfFileExpected: 'there is more after the end of the document',
  InvalidCommentToken: 'comments are not allowed',
  UnexpectedEndOfComment: 'comments are not allowed',
  UnexpectedEndOfString: 'a string does not end on its line',
  UnexpectedEndOfNumber: 'a number is not complete',
  InvalidUnicode: 'a \\u escape is not complete',
  InvalidEscapeCharacter: 'unknown escape in a string',
};
