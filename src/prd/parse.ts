import { createHash } from 'node:crypto';
import { HaloError } from '../core/errors.ts';
import type { Prd } from '../core/prd.ts';
import { decodePrd } from './decode.ts';
import type { Dialect, DraftStory, PrdDocument } from './dialect.ts';
import { describeProblems, describeWarnings, type Findings } from './findings.ts';
import { parseJson, positionAt, type JsonValue } from './json.ts';
import { checkDependencies } from './order.ts';
import { detectDialect, DIALECTS } from './registry.ts';

/** Most stories of a PRD, in any dialect. */
export const MOST_STORIES = 5000;

/**
 * Parses a PRD file in whichever dialect it is written; `path` is only for messages.
 * Throws PRD_INVALID, which names each problem as `path:line: where: rule broken`.
 */
export function parsePrd(bytes: Uint8Array, path: string): Prd {
  const findings: Findings = { problems: [], warnings: [] };
  const { text, hadMark } = decodePrd(bytes, path);
  if (hadMark) findings.warnings.push({ story: undefined, text: 'the byte order mark at the start is ignored' });
  const document = { text, json: parseJson(text, path, findings) };
  const dialect = detectDialect(document);
  if (dialect === undefined) throw unknownDialect(document, path);
  const { project, description, stories } = dialect.read(document, findings);
  if (stories.length > MOST_STORIES) throw tooManyStories(stories, path);
  checkDependencies(stories, findings);
  if (findings.problems.length > 0) throw invalid(findings, document, { dialect, path });
  return {
    dialect: dialect.id,
    project,
    description,
    stories: stories.map(finishStory),
    warnings: describeWarnings(findings.warnings),
    hash: createHash('sha256').update(bytes).digest('hex'),
  };
}

function finishStory(draft: DraftStory): Prd['stories'][number] {
  const { id, title, description, acceptance, priority, status, notes, extra } = draft;
  return { id, title, description, acceptance, priority, status, notes, extra };
}

function invalid(findings: Findings, { text }: PrdDocument, of: { dialect: Dialect; path: string }): HaloError {
  const lineOf = (offset: number) => positionAt(text, offset).line;
  return new HaloError('PRD_INVALID', describeProblems(findings.problems, of.path, lineOf), {
    hint: `Mend these places; the file was read as ${of.dialect.title}.`,
  });
}

function tooManyStories(stories: DraftStory[], path: string): HaloError {
  return new HaloError('PRD_INVALID', `${path}: ${stories.length} stories; at most ${MOST_STORIES} are read`, {
    hint: 'Split it into several PRDs.',
  });
}

function unknownDialect({ json }: PrdDocument, path: string): HaloError {
  const known = Object.values(DIALECTS).map(({ title }) => title);
  return new HaloError('PRD_INVALID', `${path}: no PRD dialect that halo knows; ${describeTop(json)}`, {
    hint: `Known dialects: ${known.join('; ')}.`,
  });
}

function describeTop(json: JsonValue): string {
  if (json.kind !== 'object') return `the top level is ${json.kind === 'array' ? 'a list' : `a ${json.kind}`}`;
  if (json.members.size === 0) return 'the top level is an empty object';
  const keys = [...json.members.keys()].slice(0, 20).map((key) => JSON.stringify(key));
  return `its top-level keys are ${keys.join(', ')}${json.members.size > 20 ? ', …' : ''}`;
}
