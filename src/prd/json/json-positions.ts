import { printParseErrorCode, visit, type ParseError, type ParseOptions } from 'jsonc-parser';
import { HaloError } from '../../core/failure/errors.ts';
import type { Diagnostics, SourceLocation } from '../diagnostics.ts';
import { FIELDS } from '../../core/prd/fields.ts';

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
  /** The value under the same key of its object before it, if the key is repeated; all of them say the same. */
  earlier?: JsonValue | undefined;
}

const NONE: ReadonlyMap<string, JsonValue> = new Map();
const NO_ITEMS: readonly JsonValue[] = [];

const STRICT: ParseOptions = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false };
const MAX_DEPTH = 64;
const MAX_VALUES = 150_000;
const MAX_SHOWN = 10;

/**
 * Parses strict JSON. Raw control characters in strings and duplicate keys are accepted with a warning; a duplicate key
 * with a different value is a problem if the value is an object or a list, or the key decides what runs.
 * Throws PRD_INVALID with line and column for any other syntax error.
 */
export function parseJsonWithPositions(
  text: string,
  path: string,
  diagnostics: Diagnostics,
  form: 'document' | 'lines' = 'document',
): JsonValue {
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
  const isLines = form === 'lines';
  const source: SourceText = {
    text: isLines ? joinLines(text) : text,
    shift: isLines ? 1 : 0,
    diagnostics,
    repeated: [],
    twice: [],
  };
  const root = parseTree(source, errors);
  const named = errors.map(({ error, offset }) => ({
    name: printParseErrorCode(error),
    offset: Math.max(0, offset - source.shift),
  }));
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
  for (const each of source.repeated) reportDuplicateKey(each, source);
  warnOfDuplicateKeys(lineOf, source);
  return root;
}

/** JSON Lines as one list of the same length plus its brackets: the line ends between the values become commas. */
function joinLines(text: string): string {
  const body = text.trimEnd();
  const lines = body.split('\n');
  const last = lines.length - 1;
  const isBlank = (line: string | undefined) => line === undefined || line.trim() === '';
  return `[${lines.map((line, index) => (index === last ? line : `${line}${isBlank(line) ? '\n' : ','}`)).join('')}${text.slice(body.length)}]`;
}

/** Whether a text is JSON Lines: several objects, one a line, or one in a file whose name says so. */
export function isJsonLines(text: string, path: string): boolean {
  const end = text.search(/\r?\n/);
  const first = (end < 0 ? text : text.slice(0, end)).trim();
  const rest = end < 0 ? '' : text.slice(end).trimStart();
  if (!first.startsWith('{') || (rest !== '' && !rest.startsWith('{'))) return false;
  try {
    const value = JSON.parse(first) as Record<string, unknown>;
    return rest !== '' || /\.(?:jsonl|ndjson)$/i.test(path) || typeof value.issue_type === 'string';
  } catch {
    return false;
  }
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

interface Repeated {
  key: string;
  first: JsonValue;
  second: JsonValue;
}

interface SourceText {
  text: string;
  /** What is in front of the file in the text. */
  shift: number;
  diagnostics: Diagnostics;
  /** Values under the same key of one object. */
  repeated: Repeated[];
  /** Duplicate keys that are only worth a warning. */
  twice: SourceLocation[];
}

/** The place of a value in its parent: a key or an index. */
export interface ValueParent {
  value: JsonValue;
  key: string | number;
}

/** A value of a document. A file has many, of which few are printed or named, so text and plain value are made on demand. */
export class PositionedValue implements JsonValue {
  readonly kind: JsonValue['kind'];
  readonly offset: number;
  end: number;
  readonly keyOffset: number | undefined;
  readonly digits: string;
  members: ReadonlyMap<string, JsonValue> = NONE;
  items: readonly JsonValue[] = NO_ITEMS;
  earlier: JsonValue | undefined;
  readonly parent: ValueParent | undefined;
  private plain: unknown;

  /** `scalar`: the value of a text, a number, a boolean or null. */
  constructor(
    kind: JsonValue['kind'],
    place: { offset: number; end: number; keyOffset?: number | undefined },
    { parent, scalar, digits = '' }: { parent?: ValueParent | undefined; scalar?: unknown; digits?: string },
  ) {
    this.kind = kind;
    this.offset = place.offset;
    this.end = place.end;
    this.keyOffset = place.keyOffset;
    this.parent = parent;
    this.plain = scalar;
    this.digits = digits;
  }

  get value(): unknown {
    if (this.plain !== undefined) return this.plain;
    if (this.kind === 'array') this.plain = this.items.map(plainOf);
    else if (this.kind === 'object')
      this.plain = Object.fromEntries([...this.members].map(([key, member]) => [key, plainOf(member)]));
    return this.plain;
  }

  get where(): string {
    if (this.parent === undefined) return '';
    const { value, key } = this.parent;
    const outer = value.where;
    if (typeof key === 'number') return `${outer}[${key}]`;
    return outer === '' ? key : `${outer}.${key}`;
  }
}

/** The object or list whose members are being read. */
interface OpenValue {
  value: PositionedValue;
  offset: number;
  members: Map<string, JsonValue>;
  items: JsonValue[];
  /** The key of the next member. */
  key: { name: string; offset: number } | undefined;
}

/** Parses a text to a tree; undefined if there is no value. */
function parseTree(source: SourceText, errors: ParseError[]): JsonValue | undefined {
  const open: OpenValue[] = [];
  let root: JsonValue | undefined;
  const add = (kind: JsonValue['kind'], from: number, of: { length: number; scalar?: unknown; digits?: string }) => {
    const outer = open.at(-1);
    const key = outer?.value.kind === 'array' ? outer.items.length : outer?.key?.name;
    const parent = outer === undefined || key === undefined ? undefined : { value: outer.value, key };
    const offset = from - source.shift;
    const place = { offset, end: offset + of.length, keyOffset: outer?.key?.offset };
    const value = new PositionedValue(kind, place, { ...of, parent });
    if (outer === undefined) root ??= value;
    else if (typeof key === 'number') outer.items.push(value);
    else if (key !== undefined) addMember(outer.members, key, value, source);
    return value;
  };
  const begin = (kind: 'object' | 'array') => (offset: number) => {
    const value = add(kind, offset, { length: 1 });
    open.push({ value, offset, members: new Map(), items: [], key: undefined });
  };
  const end = (offset: number, length: number) => {
    const closed = open.pop();
    if (closed === undefined) return;
    closed.value.end = offset - source.shift + length;
    if (closed.value.kind === 'object') closed.value.members = closed.members;
    else closed.value.items = closed.items;
  };
  visit(
    source.text,
    {
      onObjectBegin: begin('object'),
      onArrayBegin: begin('array'),
      onObjectEnd: end,
      onArrayEnd: end,
      onObjectProperty(name, offset) {
        const object = open.at(-1);
        if (object !== undefined) object.key = { name, offset: offset - source.shift };
      },
      onLiteralValue(scalar: unknown, offset, length) {
        const kind = scalar === null ? 'null' : (typeof scalar as 'string' | 'number' | 'boolean');
        add(kind, offset, {
          length,
          scalar,
          digits: kind === 'number' ? source.text.slice(offset, offset + length) : '',
        });
      },
      onError: (error, offset, length) => void errors.push({ error, offset, length }),
    },
    STRICT,
  );
  return root;
}

function addMember(members: Map<string, JsonValue>, name: string, member: PositionedValue, source: SourceText): void {
  const earlier = members.get(name);
  if (earlier !== undefined) source.repeated.push({ key: name, first: earlier, second: member });
  member.earlier = earlier;
  members.set(name, member);
}

/** Returns the plain value; an integer that would lose precision is returned as a string. */
export function plainOf({ value, digits }: JsonValue): unknown {
  return digits !== '' && /^-?\d+$/.test(digits) && !Number.isSafeInteger(value) ? digits : value;
}

/** Keys of scalar values that decide what runs. */
const DECISIVE = new Set(
  [FIELDS.id, FIELDS.dependsOn, FIELDS.flag, FIELDS.booleanFlag, FIELDS.status].flatMap(({ keys }) => keys),
);

function reportDuplicateKey({ key, first, second }: Repeated, { diagnostics, twice }: SourceText): void {
  const matters = [first, second].some(({ kind }) => kind === 'array' || kind === 'object') || DECISIVE.has(key);
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
