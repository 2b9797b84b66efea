import { HaloError } from '../core/failure/errors.ts';
import { decodePrd } from './decode-prd.ts';
import type { PrdDocument } from './dialect.ts';
import { findList } from './json/find-list.ts';
import type { Findings } from './findings.ts';
import { parseJson } from './json/json-positions.ts';
import { scanMarkdown } from './markdown/scan-markdown.ts';

export interface OpenedDocument {
  document: PrdDocument;
  /** Whether the file began with a byte order mark; offsets count from behind it. */
  hadMark: boolean;
}

/** A file as JSON or Markdown, by its content. Throws PRD_INVALID where it is neither text nor sound. */
export function openDocument(bytes: Uint8Array, path: string, findings: Findings): OpenedDocument {
  const { text, hadMark } = decodePrd(bytes, path);
  if (hadMark) findings.warnings.push({ story: undefined, text: 'the byte order mark at the start is ignored' });
  if (!isJson(text, path)) {
    refuseLong(text, path);
    return { document: scanMarkdown(text), hadMark };
  }
  const json = parseJson(text, path, findings);
  return { document: { format: 'json', text, json, found: findList(json) }, hadMark };
}

function refuseLong(text: string, path: string): void {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  if (lines <= MOST_LINES) return;
  throw new HaloError('PRD_INVALID', `${path}: ${lines} lines; at most ${MOST_LINES} are read`, {
    hint: 'Split it into several PRDs.',
  });
}

/** Names say little, but a file called .json that holds neither headings nor lists was meant to be JSON. */
function isJson(text: string, path: string): boolean {
  const start = text.trimStart();
  if (start.startsWith('{')) return true;
  if (start.startsWith('[')) return !/^\[[^\]\n]{0,1000}\][(:[]/.test(start);
  return (
    path.toLowerCase().endsWith('.json') && !/^[^\S\r\n\u2028\u2029]*(?:#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s)/m.test(text)
  );
}

/** What a document without stories looks like, for its author. */
export function describeDocument(document: PrdDocument): string {
  if (document.format === 'markdown') return 'there is no checkbox ("- [ ] text") and no story heading in it';
  const { json } = document;
  if (json.kind !== 'object') return `the top level is ${json.kind === 'array' ? 'a list' : `a ${json.kind}`}`;
  if (json.members.size === 0) return 'the top level is an empty object';
  const keys = [...json.members.keys()].slice(0, 20).map((key) => JSON.stringify(key));
  return `its top-level keys are ${keys.join(', ')}${json.members.size > 20 ? ', …' : ''}`;
}

/** Most lines of a Markdown file. */
const MOST_LINES = 100_000;
