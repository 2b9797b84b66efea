import { HaloError } from '../core/failure/errors.ts';
import { decodePrd } from './decode-prd.ts';
import { describeProblems, listProblems, type Diagnostics, type SourceLocation } from './diagnostics.ts';
import type { PrdDocument } from './dialect.ts';
import { GROUP_KEYS, LIST_KEYS, MAP_KEYS } from './json/field-aliases.ts';
import { findStoryList } from './json/find-list.ts';
import { isJsonLines, parseJsonWithPositions } from './json/json-positions.ts';
import { isYaml, parseYamlWithPositions } from './json/parse-yaml.ts';
import { readBlocks, type MarkdownDocument } from './markdown/blocks.ts';

interface OpenedDocument {
  document: PrdDocument;
  /** True if the file began with a byte order mark. Offsets do not include it. */
  hadMark: boolean;
}

/** Parses a file as JSON or Markdown, depending on its content. Throws PRD_INVALID if the text or the JSON is invalid. */
export function openDocument(bytes: Uint8Array, path: string, diagnostics: Diagnostics): OpenedDocument {
  const { text, hadMark } = decodePrd(bytes, path);
  if (hadMark) diagnostics.warnings.push({ story: undefined, text: 'the byte order mark is ignored' });
  if (!isJson(text, path)) {
    assertLineCount(text, path);
    if (isYaml(text, path, [...LIST_KEYS, ...GROUP_KEYS, ...MAP_KEYS])) {
      const json = parseYamlWithPositions(text, path);
      return { document: { format: 'json', form: 'yaml', text, json, found: findStoryList(json) }, hadMark };
    }
    const document = readBlocks(text);
    assertReadable(document, path);
    return { document, hadMark };
  }
  const form = isJsonLines(text, path) ? 'lines' : 'document';
  const json = parseJsonWithPositions(text, path, diagnostics, form);
  return { document: { format: 'json', form, text, json, found: findStoryList(json) }, hadMark };
}

/** Throws PRD_INVALID for a file with conflicts: it has two states of a story, and marks would be written into one of them. */
export function assertReadable({ faults }: MarkdownDocument, path: string): void {
  if (faults.length === 0) return;
  const numbers = new Map(faults.map(({ line }) => [line.offset, line.number]));
  const problems = faults.map(({ line, rule }) => ({ where: '', offset: line.offset, rule }));
  const placeOf = ({ offset }: SourceLocation) => ({ path, line: numbers.get(offset) ?? 1, order: 0 });
  throw new HaloError('PRD_INVALID', describeProblems(problems, placeOf), {
    hint: 'Fix these lines. If they are the markers of a merge, resolve the conflict first.',
    problems: listProblems(problems, placeOf),
  });
}

/** Throws PRD_INVALID for a text with too many lines. */
export function assertLineCount(text: string, path: string): void {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  if (lines <= MAX_LINES) return;
  throw new HaloError('PRD_INVALID', `${path}: The file has ${lines} lines; the limit is ${MAX_LINES}.`, {
    hint: 'Split it into several PRDs.',
  });
}

/** The content decides; a .json file without Markdown headings or lists is JSON, even if it is malformed. */
function isJson(text: string, path: string): boolean {
  const start = text.trimStart();
  if (start.startsWith('{')) return true;
  if (start.startsWith('[')) return !/^\[[^\]\n]{0,1000}\][(:[]/.test(start);
  return (
    path.toLowerCase().endsWith('.json') && !/^[^\S\r\n\u2028\u2029]*(?:#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s)/m.test(text)
  );
}

/** Limit for the number of lines of a Markdown file. */
const MAX_LINES = 100_000;
