/**
 * The only scanner of Markdown. `readBlocks` gives each line of a file one kind, as CommonMark reads it (markdown-it finds
 * the blocks), with offsets for marks that change single bytes:
 *
 * - `lines`: the lines below the front matter. A line in code, in `<pre>` or in a quote is never a heading or an item. HTML
 *   comments are replaced by spaces. Items are nested by `indent`, the column of the first character.
 * - `outline`: the sections, each with its heading, its parent and the lines up to the next heading.
 * - `boxes`: the top-level checkboxes with all that belongs to them; unused if headings are the stories.
 * - `frontMatter`: the YAML between the `---` lines at the top, with its offset in the file.
 * - `faults`: why the file is refused, whatever its dialect is: the markers of an unfinished merge, and too deep nesting.
 * - `ignored`: what is not read as it looks, other than `comments`, which some tools use as marks.
 *
 * A dialect decides from these which lines are stories, and reads no text of the file itself. All offsets are positions in
 * `text`, which has no byte order mark and keeps its line ends.
 */
import MarkdownIt, { type Token } from 'markdown-it';
import type { Remark, SourceLocation } from '../diagnostics.ts';
import { findCheckboxes, type Checkbox } from './checkboxes.ts';
import { hideComments } from './hide-comments.ts';
import { readLabels } from './labels.ts';
import { nestedFence } from './nested-fence.ts';
import { buildOutline, type Line, type OutlineSection } from './outline.ts';

export interface MarkdownDocument {
  format: 'markdown';
  text: string;
  lines: Line[];
  outline: OutlineSection[];
  boxes: Checkbox[];
  /** The blocks of code, as numbers of their first and last line. */
  code: { first: number; last: number }[];
  ignored: Remark[];
  comments: Remark[];
  /** The text is empty if there is none. */
  frontMatter: { text: string; offset: number };
  faults: Fault[];
}

interface Fault {
  line: Line;
  rule: string;
}

/**
 * Blocks only: inline markup takes most of the time of a parser, and halo needs nothing of it. Definitions of links stay
 * text, so that no line is lost. Its time is linear, because it stops at the first block below `maxNesting` others.
 */
const PARSER = new MarkdownIt('commonmark', { maxNesting: 100 });
PARSER.block.ruler.disable('reference');
PARSER.block.ruler.before('fence', 'nested_fence', nestedFence, { alt: ['paragraph', 'blockquote', 'list'] });

/** The tokens that are read. */
const READ = new Set(
  'fence code_block html_block inline hr list_item_open heading_open blockquote_open blockquote_close'.split(' '),
);

/** Drops all other tokens, which would take half of the time and most of the memory. */
PARSER.block.State = class extends PARSER.block.State {
  override push(type: string, tag: string, nesting: -1 | 0 | 1): Token {
    if (this.level + nesting >= (this.md.options.maxNesting ?? 0)) this.env[TOO_DEEP] ??= this.line;
    const { level } = this;
    this.level += nesting;
    if (!READ.has(type)) return this.dropped;
    // A copy is several times faster than a new token; the rules of blocks call none of its methods.
    const token = { ...this.dropped, type, tag, nesting, level: nesting < 0 ? level - 1 : level } as Token;
    this.tokens.push(token);
    return token;
  }

  private readonly dropped = Object.assign(new this.Token('', '', 0), { block: true });
};

/** Holds the index of the line where the parser stopped. */
const TOO_DEEP = 'tooDeep';

/** Reads the blocks of a Markdown file. Pure. */
export function readBlocks(text: string): MarkdownDocument {
  const all = splitLines(text);
  const first = countFrontMatter(all);
  const source = all.map(({ raw }, index) => (index < first ? '' : raw)).join('\n');
  const tokens: Token[] = [];
  const env: Record<string, unknown> = {};
  PARSER.block.parse(source, PARSER, env, tokens);
  const deep = all.filter((_line, index) => index === env[TOO_DEEP]);
  const { code, ignored, comments } = setKinds(tokens, all);
  const lines = all.slice(first);
  nest(lines);
  const outline = buildOutline(lines);
  const inner = all.slice(1, Math.max(1, first - 1));
  return {
    format: 'markdown',
    text,
    lines,
    outline,
    boxes: findCheckboxes(outline),
    code,
    ignored: [...ignored, ...warnOfTextBoxes(lines)],
    comments: remarkOnComments(comments),
    frontMatter: { text: inner.map(({ raw }) => raw).join('\n'), offset: inner[0]?.offset ?? 0 },
    faults: [
      ...findConflicts(lines).map((line) => ({ line, rule: 'a marker of an unfinished merge' })),
      ...deep.map((line) => ({ line, rule: 'lists and quotes are nested too deeply' })),
    ],
  };
}

function splitLines(text: string): Line[] {
  let offset = 0;
  return text.split('\n').map((line, index) => {
    const raw = line.trimEnd();
    const rest = raw.trimStart();
    const start = raw.length - rest.length;
    const kind = rest === '' ? 'blank' : 'text';
    const place = { number: index + 1, offset, end: offset + raw.length, indent: countColumns(raw, start) };
    offset += line.length + 1;
    return { kind, text: rest, raw, ...place, content: start, level: 0, box: undefined, parent: undefined };
  });
}

/** Columns of the first `length` characters; tabs end at multiples of four. */
function countColumns(text: string, length: number): number {
  let columns = 0;
  for (let at = 0; at < length; at++) columns += text[at] === '\t' ? 4 - (columns % 4) : 1;
  return columns;
}

/** Number of front matter lines. Without a `key: value` line below it, `---` in the first line is a horizontal rule. */
function countFrontMatter(lines: Line[]): number {
  if (lines[0]?.raw !== '---') return 0;
  const end = lines.findIndex(({ raw }, index) => index > 0 && (raw === '---' || raw === '...'));
  const isYaml = lines.slice(1, Math.max(1, end)).some(({ raw }) => /^[\w"'][\w .\-"']{0,80}:(?:\s|$)/.test(raw));
  return isYaml ? end + 1 : 0;
}

interface Findings {
  code: MarkdownDocument['code'];
  ignored: Remark[];
  /** The lines in which comments begin. */
  comments: number[];
}

/** Sets the kind of each line. The lines of quotes and headings within items stay text. */
function setKinds(tokens: Token[], lines: Line[]): Findings {
  const found: Findings = { code: [], ignored: [], comments: [] };
  let quotes = 0;
  for (const [index, { type, map, tag, content, level }] of tokens.entries()) {
    if (type === 'blockquote_open') quotes++;
    else if (type === 'blockquote_close') quotes--;
    if (map === null) continue;
    const block = type === 'list_item_open' ? lines.slice(map[0], map[0] + 1) : lines.slice(...map);
    if (type === 'fence') setFence(block, map[1] === lines.length, found);
    else if (type === 'code_block') setCode(block, found);
    else if (type === 'html_block') setHtml(block, map[1] === lines.length, found);
    else if (type === 'inline' && content.includes('<!--')) hideIn(block, false, found);
    else if (type === 'hr' && quotes === 0) setBlank(block);
    else if (type === 'list_item_open' && quotes === 0) setItem(block[0]);
    else if (type === 'heading_open' && level === 0)
      setHeading(block, Number(tag.slice(1)), tokens[index + 1]?.content ?? '');
  }
  return found;
}

function setCode(block: Line[], { code }: Findings): void {
  for (const line of block) Object.assign(line, { kind: 'code', text: line.raw, box: undefined });
  code.push({ first: block[0]?.number ?? 0, last: block.at(-1)?.number ?? 0 });
}

const FENCE = /(`{3,}|~{3,})/;

/** `isLast`: it extends to the end of the file. */
function setFence(block: Line[], isLast: boolean, found: Findings): void {
  setCode(block, found);
  const [first, last] = [block[0], block.at(-1)];
  const sign = FENCE.exec(first?.raw ?? '')?.[1] ?? '';
  const isClosed = last !== first && last?.raw.trim().startsWith(sign) === true;
  if (isLast && !isClosed) found.ignored.push(unclosed('code fence', first, 'everything below it is code'));
}

/** Hides comments; `<pre>` and scripts are code, other HTML is text. */
function setHtml(block: Line[], isLast: boolean, found: Findings): void {
  const start = block[0]?.text ?? '';
  if (/^<(?:pre|script|style|textarea)\b/i.test(start)) return setCode(block, found);
  const isComment = start.startsWith('<!--');
  const open = hideIn(block, isComment, found);
  if (isLast && open !== undefined) {
    found.comments.pop();
    found.ignored.push(unclosed('HTML comment', open, 'everything below it is ignored'));
  }
}

/** Replaces the comments of a block with spaces. `toEnd`: one without an end reaches to the end of the block; returns its line. */
function hideIn(block: Line[], toEnd: boolean, { comments }: Findings): Line | undefined {
  const hidden = hideComments(block.map(({ raw }) => raw).join('\n'), toEnd);
  const shown = hidden.text.split('\n');
  for (const [index, line] of block.entries()) {
    const raw = (shown[index] ?? '').trimEnd();
    if (line.raw === raw) continue;
    const text = raw.slice(line.content).trim();
    if (line.kind === 'heading') line.text = hideComments(line.text).text.trim();
    else if (line.kind === 'item') line.text = text;
    else Object.assign(line, text === '' ? { kind: 'blank', text } : { text });
    Object.assign(line, { raw, end: line.offset + raw.length });
  }
  for (const start of hidden.starts) comments.push(block[start]?.number ?? 0);
  return hidden.open === undefined ? undefined : block[hidden.open];
}

/**
 * Finds the item that each line belongs to, by indentation: authors indent less than CommonMark requires, for example below
 * `1.`. Text after a blank line belongs to an item only if it is indented deeper.
 */
function nest(lines: Line[]): void {
  const items: Line[] = [];
  let before: Line['kind'] = 'blank';
  for (const line of lines) {
    const { kind, indent } = line;
    const starts = kind === 'item' || (before === 'blank' && (kind === 'text' || (kind === 'code' && indent === 0)));
    if (kind === 'heading') items.length = 0;
    while (starts && (items.at(-1)?.indent ?? -1) >= indent) items.pop();
    line.parent = items.at(-1);
    if (kind === 'item') items.push(line);
    before = kind;
  }
}

const BULLET = /^\s*(?:[-*+]|\d{1,9}[.)])(?:\s+|$)/;
/** A checkbox, bold or not, with or without a space after it; `[x](…)`, `[x][…]` and `[x]: …` are links. */
const BOX = /^(\*\*|__)?\[([ xX~\-/>!])\](?![([:])/;

/** Reads the next bullet of a line. A line can have several: the last one counts. */
function setItem(line: Line | undefined): void {
  if (line === undefined) return;
  const from = line.kind === 'item' ? line.content : 0;
  const bullet = BULLET.exec(line.raw.slice(from));
  if (bullet === null) return;
  const at = from + bullet[0].length;
  const box = BOX.exec(line.raw.slice(at, at + 6));
  const [, bold = '', mark = ' '] = box ?? [];
  const content = box === null ? at : at + bold.length + 3;
  const rest = line.raw.slice(content).trim();
  const text = bold !== '' && rest.startsWith(bold) ? rest.slice(2).trim() : bold + rest;
  const isOptional = box !== null && /^\*\s/.test(text);
  Object.assign(line, { kind: 'item', content, text }, isOptional ? { text: text.slice(2).trim(), isOptional } : {});
  line.box = box === null ? undefined : { mark, offset: line.offset + at + bold.length + 1 };
}

/** An underlined heading has one line. Below several, or below a label such as `**Status:** open`, `---` is a rule. */
function setHeading([line, ...rest]: Line[], level: number, text: string): void {
  if (line?.kind !== 'text') return;
  if (rest.length > 1 || (rest.length === 1 && readLabels(line).length > 0)) return setBlank(rest.slice(-1));
  Object.assign(line, { kind: 'heading', level, text });
  setBlank(rest);
}

function setBlank(lines: Line[]): void {
  for (const line of lines) Object.assign(line, { kind: 'blank', text: '', raw: '' });
}

/** The location of a story, for messages. */
export function placeOf({ number, offset }: Line): SourceLocation {
  return { where: `the story of line ${number}`, offset };
}

/** A remark on lines. */
export function remarkOn(lines: readonly Line[], text: string): Remark {
  return { text, lines: { numbers: lines.map(({ number }) => number) } };
}

/** A remark on checkboxes, which says how many of them are ticked. */
export function remarkOnBoxes(lines: readonly Line[], text: string): Remark {
  const ticked = lines.filter(({ raw }) => /\[[xX]\]/.test(raw)).length;
  return { text, lines: { numbers: lines.map(({ number }) => number), ticked } };
}

function unclosed(what: string, line: Line | undefined, effect: string): Remark {
  return { text: `the ${what} in line ${line?.number ?? 0} is never closed, so ${effect}` };
}

function remarkOnComments(numbers: number[]): Remark[] {
  return numbers.length === 0 ? [] : [{ text: 'HTML comments are ignored', lines: { numbers } }];
}

const LOOKS_LIKE_BOX = /^[\s>]{0,200}(?:[-*+]|\d{1,9}[.)])\s+\[[ xX~\-/>!]\](?![([:])/;

/** Names the lines that look like checkboxes, but are in a quote, code or a paragraph. */
function warnOfTextBoxes(lines: Line[]): Remark[] {
  const text = lines.filter(({ kind, raw }) => (kind === 'text' || kind === 'code') && LOOKS_LIKE_BOX.test(raw));
  return text.length === 0 ? [] : [remarkOnBoxes(text, 'checkboxes in code, quotes and paragraphs are text')];
}

/** Finds the markers that git leaves in a file with conflicts. */
function findConflicts(lines: Line[]): Line[] {
  const isEdge = ({ kind, raw }: Line) => kind !== 'code' && /^(?:<{7}|>{7}|\|{7})(?:\s+\S.*)?$/.test(raw);
  if (!lines.some((line) => isEdge(line) && !/^>+$/.test(line.raw))) return [];
  return lines.filter((line) => isEdge(line) || line.raw === '=======');
}
