import { HaloError } from '../core/failure/errors.ts';
import { decodePrd } from './decode-prd.ts';
import type { PrdDocument } from './dialect.ts';
import { findStoryList } from './json/find-list.ts';
import type { Diagnostics } from './diagnostics.ts';
import { parseJsonWithPositions } from './json/json-positions.ts';
import { scanMarkdown } from './markdown/scan-markdown.ts';

export interface OpenedDocument {
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
    return { document: scanMarkdown(text), hadMark };
  }
  const json = parseJsonWithPositions(text, path, diagnostics);
  return { document: { format: 'json', text, json, found: findStoryList(json) }, hadMark };
}

function assertLineCount(text: string, path: string): void {
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

/** Describes a document without stories, for an error message. */
export function describeDocument(document: PrdDocument): string {
  if (document.format === 'markdown') return 'it has no checkbox ("- [ ] text") and no story heading';
  const { json } = document;
  if (json.kind !== 'object') return `the top level is ${json.kind === 'array' ? 'a list' : `a ${json.kind}`}`;
  if (json.members.size === 0) return 'the top level is an empty object';
  const keys = [...json.members.keys()].slice(0, 20).map((key) => JSON.stringify(key));
  return `its top-level keys are ${keys.join(', ')}${json.members.size > 20 ? ', …' : ''}`;
}

/** Limit for the number of lines of a Markdown file. */
const MAX_LINES = 100_000;
