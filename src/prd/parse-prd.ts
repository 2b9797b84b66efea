import { createHash } from 'node:crypto';
import { HaloError } from '../core/failure/errors.ts';
import { folderOfNamedPrd } from '../core/prd/prd-names.ts';
import type { ContextText, DialectId, Prd, Story } from '../core/prd/prd.ts';
import { detailsOf } from '../core/prd/story-details.ts';
import { shellWord } from '../core/shell-word.ts';
import { storyKey } from '../core/run/story-key.ts';
import { toOneLine } from '../lib/one-line.ts';
import { findCutTexts } from './cut-texts.ts';
import type { About, Dialect, Draft, DraftStory, PrdDocument } from './dialect.ts';
import { describeDocument, openDocument } from './open-document.ts';
import { describeProblems, describeWarnings, listProblems, type Findings } from './findings.ts';
import { refuseLookAlikes } from './ids.ts';
import { positionAt } from './json/json-positions.ts';
import { settleDependencies } from './story/dependencies.ts';
import { detectDialect, DIALECTS, isWrittenIn } from './dialect-registry.ts';
import { hashSpecification } from './spec-hash.ts';

/** A file with all that reading it has turned up. */
export interface ReadPrd {
  document: PrdDocument;
  hadMark: boolean;
  dialect: Dialect;
  draft: Draft;
  prd: Prd;
}

/**
 * Parses a PRD file in whichever dialect it is written; one with a name is held to the rules of daedalus.
 * Throws PRD_INVALID, which names each problem as `path:line: where: rule broken`.
 */
export function parsePrd(bytes: Uint8Array, path: string, as?: DialectId): Prd {
  return readPrdFile(bytes, path, as ?? (folderOfNamedPrd(path) === undefined ? undefined : 'daedalus')).prd;
}

/**
 * As `parsePrd`, with places; `path` is only for messages.
 * `as`: the dialect whose rules count, which the file must have the shape of.
 */
export function readPrdFile(bytes: Uint8Array, path: string, as?: DialectId): ReadPrd {
  const findings: Findings = { problems: [], warnings: [] };
  const { document, hadMark } = openDocument(bytes, path, findings);
  const dialect = chooseDialect(document, path, as);
  const draft = readDraft(dialect, document, findings);
  refuseLookAlikes(draft.stories, findings);
  const stories = settleDependencies(draft.stories, findings);
  if (findings.problems.length > 0) throw invalid(findings, document, { dialect, path });
  const prd: Prd = {
    dialect: dialect.id,
    project: draft.project,
    description: draft.description,
    context: draft.about.flatMap((about) => finishContext(about, stories)),
    stories: stories.map(finishStory),
    warnings: [],
    hash: createHash('sha256').update(bytes).digest('hex'),
    specHash: hashSpecification(draft),
  };
  findings.warnings.push(...findCutTexts(prd));
  return {
    document,
    hadMark,
    dialect,
    draft: { ...draft, stories },
    prd: { ...prd, warnings: describeWarnings(findings.warnings) },
  };
}

function chooseDialect(document: PrdDocument, path: string, as: DialectId | undefined): Dialect {
  const detected = detectDialect(document);
  if (detected === undefined) throw unknownDialect(document, path);
  if (as === undefined) return detected;
  if (isWrittenIn(DIALECTS[as], document)) return DIALECTS[as];
  throw new HaloError('PRD_INVALID', `${path}: not written as ${DIALECTS[as].title}`, {
    hint: `It looks like ${detected.title}; \`halo prd convert --to ${as}\` writes it anew.`,
  });
}

function readDraft(dialect: Dialect, document: PrdDocument, findings: Findings): Draft {
  if (dialect.format === 'json' && document.format === 'json') return dialect.read(document, findings);
  if (dialect.format === 'markdown' && document.format === 'markdown') return dialect.read(document, findings);
  throw new Error(`${dialect.id} cannot read ${document.format}`);
}

function finishStory(draft: DraftStory): Story {
  const { id, title, description, acceptance, priority, status, notes, extra } = draft;
  const dependsOn = [...new Set(draft.dependsOn.map((needed) => needed.id))];
  return { id, storyKey: storyKey(id), title, description, acceptance, priority, dependsOn, status, notes, extra };
}

function finishContext({ label, value, stories: places }: About, stories: DraftStory[]): ContextText[] {
  const of = places === undefined ? {} : { stories: places.flatMap((place) => stories[place]?.id ?? []) };
  return detailsOf({ [label]: value }).map((detail) => ({ ...detail, ...of }));
}

function invalid(findings: Findings, { text }: PrdDocument, of: { dialect: Dialect; path: string }): HaloError {
  const lineOf = (offset: number) => positionAt(text, offset).line;
  return new HaloError('PRD_INVALID', describeProblems(findings.problems, of.path, lineOf), {
    hint: `Mend these places; the file was read as ${of.dialect.title}.`,
    problems: listProblems(findings.problems, lineOf),
  });
}

function unknownDialect(document: PrdDocument, path: string): HaloError {
  const known = Object.values(DIALECTS).filter(({ format }) => format === document.format);
  const message = `${path}: no PRD dialect that halo knows; ${toOneLine(describeDocument(document))}`;
  const file = path === '-' ? 'the file' : path;
  return new HaloError('PRD_INVALID', message, {
    hint:
      `\`halo import ${shellWord(file)}\` has an agent write a PRD from a document. ` +
      `Dialects that halo reads: ${known.map(({ id }) => id).join(', ')}.`,
  });
}
