import { createHash } from 'node:crypto';
import { HaloError } from '../core/failure/errors.ts';
import { folderOfNamedPrd } from '../core/prd/prd-names.ts';
import type { ContextText, DialectId, Prd, PrdFile, Story } from '../core/prd/prd.ts';
import { toDetails } from '../core/prd/story-details.ts';
import { printableShellWord } from '../core/text/safe-text.ts';
import { storyKey } from '../core/run/story-key.ts';
import { oneLine } from '../lib/text.ts';
import { findCutTexts } from './story/cut-texts.ts';
import type { ContextEntry, Dialect, Draft, DraftStory, PrdDocument } from './dialect.ts';
import { describeDocument, openDocument } from './open-document.ts';
import { describeProblems, describeWarnings, listProblems, type Diagnostics } from './diagnostics.ts';
import { addTestsFirstDiagnostics } from './story/tests-first-rules.ts';
import { reportLookAlikeIds } from './story/story-ids.ts';
import { lineFinder } from './json/json-positions.ts';
import { resolveDependencies } from './story/dependencies.ts';
import { addContractDiagnostics } from './contract/contract-rules.ts';
import { detectDialect, DIALECTS, matchesDialect } from './dialect-registry.ts';
import { hashSpecification } from './spec-hash.ts';

/** A parsed PRD file with its document and draft. */
export interface ReadPrd {
  document: PrdDocument;
  hadMark: boolean;
  dialect: Dialect;
  draft: Draft;
  prd: Prd;
}

/**
 * Parses a PRD file and detects its dialect; named PRDs (`.halo/prds/<name>`, `.daedalus/prds/<name>`) must follow the daedalus dialect.
 * Throws PRD_INVALID with one line `path:line: where: rule` per problem.
 */
export function parsePrd(bytes: Uint8Array, path: string, as?: DialectId): Prd {
  return readPrdFile(bytes, path, { as: as ?? dialectOfPlace(path) }).prd;
}

function dialectOfPlace(path: string): DialectId | undefined {
  return folderOfNamedPrd(path) === undefined ? undefined : 'daedalus';
}

/**
 * Parses a PRD file as a dialect, with the rules of the tool that the dialect is named after (daedalus, swanson), which halo
 * does not need to run it. Throws PRD_INVALID.
 */
export function parsePrdStrictly(bytes: Uint8Array, path: string, as: DialectId): Prd {
  return readPrdFile(bytes, path, { as, isStrict: true }).prd;
}

/**
 * Throws PRD_INVALID if a story that is not done or skipped has no acceptance criteria, with the line of each.
 * The file must be valid.
 */
export function assertCriteria({ bytes, path }: PrdFile): void {
  const { document, draft } = readPrdFile(bytes, path, { as: dialectOfPlace(path) });
  const lacking = draft.stories.filter(
    ({ acceptance, status }) => acceptance.length === 0 && !['done', 'skipped'].includes(status),
  );
  if (lacking.length === 0) return;
  const problems = lacking.map(({ id, at }) => ({ ...at, where: at.where || id, rule: 'has no acceptance criteria' }));
  const lineOf = lineFinder(document.text);
  throw new HaloError('PRD_INVALID', describeProblems(problems, path, lineOf), {
    hint: 'Give each story at least one criterion that can be checked; `prd.criteria` is "required" (docs/prd.md).',
    problems: listProblems(problems, lineOf),
  });
}

/**
 * Like `parsePrd`, but returns the document and the draft as well. `path` is used in messages only.
 * `as`: parse the file as this dialect; its shape must match. `isStrict`: with the rules of that tool.
 */
export function readPrdFile(
  bytes: Uint8Array,
  path: string,
  { as, isStrict = false }: { as?: DialectId | undefined; isStrict?: boolean } = {},
): ReadPrd {
  const diagnostics: Diagnostics = { problems: [], warnings: [] };
  const { document, hadMark } = openDocument(bytes, path, diagnostics);
  const dialect = chooseDialect(document, path, as);
  const draft = readDraft(dialect, document, diagnostics);
  addTestsFirstDiagnostics(draft, diagnostics);
  if (isStrict) addContractDiagnostics(dialect.id, document, diagnostics);
  reportLookAlikeIds(draft.stories, diagnostics);
  const stories = resolveDependencies(draft.stories, diagnostics);
  if (diagnostics.problems.length > 0) throw invalid(diagnostics, document, { dialect, path, isStrict });
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
  return {
    document,
    hadMark,
    dialect,
    draft: { ...draft, stories },
    prd: { ...prd, warnings: describeWarnings([...diagnostics.warnings, ...findCutTexts(prd)]) },
  };
}

function chooseDialect(document: PrdDocument, path: string, as: DialectId | undefined): Dialect {
  const detected = detectDialect(document);
  if (detected === undefined) throw unknownDialect(document, path);
  if (as === undefined) return detected;
  if (matchesDialect(DIALECTS[as], document)) return DIALECTS[as];
  throw new HaloError('PRD_INVALID', `${path}: The file is not in the dialect ${DIALECTS[as].title}.`, {
    hint: `It looks like ${detected.title}; convert it with \`halo prd convert --to ${as}\`.`,
  });
}

function readDraft(dialect: Dialect, document: PrdDocument, diagnostics: Diagnostics): Draft {
  if (dialect.format === 'json' && document.format === 'json') return dialect.read(document, diagnostics);
  if (dialect.format === 'markdown' && document.format === 'markdown') return dialect.read(document, diagnostics);
  throw new Error(`${dialect.id} cannot read ${document.format}`);
}

function finishStory(draft: DraftStory): Story {
  const { id, title, description, acceptance, priority, status, notes, extra } = draft;
  const dependsOn = [...new Set(draft.dependsOn.map((needed) => needed.id))];
  return { id, storyKey: storyKey(id), title, description, acceptance, priority, dependsOn, status, notes, extra };
}

function finishContext({ label, value, stories: places }: ContextEntry, stories: DraftStory[]): ContextText[] {
  const of = places === undefined ? {} : { stories: places.flatMap((place) => stories[place]?.id ?? []) };
  return toDetails({ [label]: value }).map((detail) => ({ ...detail, ...of }));
}

function invalid(
  diagnostics: Diagnostics,
  { text }: PrdDocument,
  of: { dialect: Dialect; path: string; isStrict: boolean },
): HaloError {
  const rules = of.isStrict ? `, with the rules of ${of.dialect.id}` : '';
  const lineOf = lineFinder(text);
  return new HaloError('PRD_INVALID', describeProblems(diagnostics.problems, of.path, lineOf), {
    hint: `Fix these problems. The file was read as ${of.dialect.title}${rules}.`,
    problems: listProblems(diagnostics.problems, lineOf),
  });
}

function unknownDialect(document: PrdDocument, path: string): HaloError {
  const known = Object.values(DIALECTS).filter(({ format }) => format === document.format);
  if (/\.ya?ml$/i.test(path))
    return new HaloError('PRD_INVALID', `${path}: YAML is not supported, only JSON and Markdown.`, {
      hint: 'Convert it to JSON first, for example with `yq -o json`. A list `tasks` with `title` and `completed` is read without changes.',
    });
  const message = `${path}: The file is in no known PRD dialect; ${oneLine(describeDocument(document))}.`;
  const file = path === '-' ? 'the file' : path;
  return new HaloError('PRD_INVALID', message, {
    hint:
      `Run \`halo import ${printableShellWord(file)}\` to have an agent write a PRD from a document. ` +
      `Supported dialects: ${known.map(({ id }) => id).join(', ')}.`,
  });
}
