import { HaloError } from '../core/errors.ts';
import { decodePrd } from './decode.ts';
import type { PrdDocument } from './dialect.ts';
import { findList } from './find-list.ts';
import type { Findings } from './findings.ts';
import { parseJson } from './json.ts';
import { scanMarkdown } from './markdown/scan.ts';

export interface OpenedDocument {
  document: PrdDocument;
  /** Whether the file began with a byte order mark; offsets count from behind it. */
  hadMark: boolean;
}

/** A file as JSON or Markdown, by its content. Throws PRD_INVALID where it is neither text nor sound. */
export function openDocument(bytes: Uint8Array, path: string, findings: Findings): OpenedDocument {
  const { text, hadMark } = decodePrd(bytes, path);
  if (hadMark) findings.warnings.push({ story: undefined, text: 'the byte order mark at the start is ignored' });
  if (!isJson(text, path)) return { document: scanMarkdown(text), hadMark };
  const json = parseJson(text, path, findings);
  return { document: { format: 'json', text, json, found: findList(json) }, hadMark };
}

/** Names say little, but a file called .json that holds neither headings nor lists was meant to be JSON. */
function isJson(text: string, path: string): boolean {
  const start = text.trimStart();
  if (start.startsWith('{')) return true;
  if (start.startsWith('[')) return !/^\[[^\]\n]{0,1000}\][(:[]/.test(start);
  return path.toLowerCase().endsWith('.json') && !/^\s*(?:#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s)/m.test(text);
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

/** Most stories of a PRD, in any dialect. */
export const MOST_STORIES = 5000;

/** Throws PRD_INVALID when there are more stories than are read. */
export function refuseTooMany(count: number, path: string): void {
  if (count <= MOST_STORIES) return;
  throw new HaloError('PRD_INVALID', `${path}: ${count} stories; at most ${MOST_STORIES} are read`, {
    hint: 'Split it into several PRDs.',
  });
}
