import { createHash } from 'node:crypto';
import { HaloError } from '../core/failure/errors.ts';
import { filledTexts } from '../core/prd/fields.ts';
import { folderOfNamedPrd } from '../core/prd/prd-names.ts';
import type { ContextText, Prd, PrdFile, Story } from '../core/prd/prd.ts';
import { toDetails, type CutDetail } from '../core/prd/story-details.ts';
import { contextText, isCutAtStart, storyText } from '../core/prd/story-text.ts';
import { isTestsFirstKey, isTestsFirstValue, TESTS_FIRST_MODES } from '../core/prd/tests-first-field.ts';
import { storyKey } from '../core/run/story-key.ts';
import { printableShellWord } from '../core/text/safe-text.ts';
import { oneLine } from '../lib/text.ts';
import { addContractDiagnostics } from './contract-rules.ts';
import { decodePrd } from './decode-prd.ts';
import {
  describeProblems,
  describeWarnings,
  listProblems,
  type Diagnostics,
  type PrdWarning,
  type SourceLocation,
} from './diagnostics.ts';
import { detectDialect, DIALECTS, type DialectId, matchesDialect } from './dialect-registry.ts';
import type { ContextEntry, Dialect, Draft, DraftStory, PrdDocument } from './dialect.ts';
import { GROUP_KEYS, LIST_KEYS, MAP_KEYS } from './json/field-aliases.ts';
import { findStoryList } from './json/find-list.ts';
import { isJsonLines, lineFinder, parseJsonWithPositions } from './json/json-positions.ts';
import { isYaml, parseYamlWithPositions } from './json/parse-yaml.ts';
import { readBlocks, type MarkdownDocument } from './markdown/blocks.ts';
import { hashSpecification } from './spec-hash.ts';
import { resolveDependencies } from './story/dependencies.ts';
import { reportLookAlikeIds } from './story/story-ids.ts';

/** A parsed PRD file with its document and draft. */
export interface ReadPrd {
  document: PrdDocument;
  hadMark: boolean;
  dialect: Dialect;
  draft: Draft;
  prd: Prd;
  /** What the notes of `prd` say, as data. */
  warnings: PrdWarning[];
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
  const problems = lacking.map(({ id, at }) => ({
    offset: at.offset,
    where: at.where || id,
    rule: 'has no acceptance criteria',
  }));
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
  const warnings = [...diagnostics.warnings, ...findCutTexts(prd)];
  return {
    document,
    hadMark,
    dialect,
    draft: { ...draft, stories },
    prd: { ...prd, warnings: describeWarnings(warnings) },
    warnings,
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
  const texts = { notes, ...filledTexts(draft) };
  return { id, storyKey: storyKey(id), title, description, acceptance, priority, dependsOn, status, ...texts, extra };
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
  const message = `${path}: The file is in no known PRD dialect; ${oneLine(describeDocument(document))}.`;
  const file = path === '-' ? 'the file' : path;
  return new HaloError('PRD_INVALID', message, {
    hint:
      `Run \`halo import ${printableShellWord(file)}\` to have an agent write a PRD from a document. ` +
      `Supported dialects: ${known.map(({ id }) => id).join(', ')}.`,
  });
}

interface OpenedDocument {
  document: PrdDocument;
  /** True if the file began with a byte order mark. Offsets do not include it. */
  hadMark: boolean;
}

/** Parses a file as JSON or Markdown, depending on its content. Throws PRD_INVALID if the text or the JSON is invalid. */
function openDocument(bytes: Uint8Array, path: string, diagnostics: Diagnostics): OpenedDocument {
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

/** A file with conflicts has two states of a story, and marks would be written into one of them. */
function assertReadable({ faults }: MarkdownDocument, path: string): void {
  if (faults.length === 0) return;
  const numbers = new Map(faults.map(({ line }) => [line.offset, line.number]));
  const problems = faults.map(({ line, rule }) => ({ where: '', offset: line.offset, rule }));
  const lineOf = (offset: number) => numbers.get(offset) ?? 1;
  throw new HaloError('PRD_INVALID', describeProblems(problems, path, lineOf), {
    hint: 'Fix these lines. If they are the markers of a merge, resolve the conflict first.',
    problems: listProblems(problems, lineOf),
  });
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
function describeDocument(document: PrdDocument): string {
  if (document.format === 'markdown') return 'it has no checkbox ("- [ ] text") and no story heading';
  const { json } = document;
  if (json.kind !== 'object') return `the top level is ${json.kind === 'array' ? 'a list' : `a ${json.kind}`}`;
  if (json.members.size === 0) return 'the top level is an empty object';
  const keys = [...json.members.keys()].slice(0, 20).map((key) => JSON.stringify(key));
  return `its top-level keys are ${keys.join(', ')}${json.members.size > 20 ? ', …' : ''}`;
}

/** Limit for the number of lines of a Markdown file. */
const MAX_LINES = 100_000;

/** Context texts, and stories that they name, that are looked at in all: each story can have every text of the file. */
const MAX_COMPARED = 500_000;

/** Warns about texts that are too long for a story's prompt and will be truncated. */
function findCutTexts(prd: Prd): PrdWarning[] {
  const open = prd.stories.filter(({ status }) => status !== 'done');
  const perStory = prd.context.reduce((sum, { stories = [] }) => sum + 1 + stories.length, 1);
  const compared = open.slice(0, Math.max(1, Math.floor(MAX_COMPARED / perStory)));
  const warnings: PrdWarning[] = compared.flatMap((story) => {
    const cut = [...storyText(story).cut, ...contextText(prd, story.id).cut];
    return cut.map((each) => ({ story: story.id, text: describeCut(each) }));
  });
  const others = open.length - compared.length;
  if (others > 0)
    warnings.push({
      story: undefined,
      text: `${others} stories were not compared with the limits of a prompt, because the file has so much text for all of them`,
    });
  return warnings;
}

function describeCut({ label, length, kept }: CutDetail): string {
  const part = isCutAtStart(label) ? 'last' : 'first';
  return `${label} has ${length} characters, the agent gets ${kept === 0 ? 'none of them' : `the ${part} ${kept}`}`;
}

/** Adds a problem for each field `testsFirst`, of a story or of the file, that is none of its values. */
function addTestsFirstDiagnostics({ stories, about }: Draft, diagnostics: Diagnostics): void {
  const fields: { key: string; value: unknown; at: SourceLocation }[] = [
    ...about
      .filter(({ stories: places }) => places === undefined)
      .map(({ label, value }) => ({ key: label, value, at: { where: label, offset: 0 } })),
    ...stories.flatMap(({ extra, id, at }) =>
      Object.entries(extra)
        .filter(([key]) => isTestsFirstKey(key))
        .map(([key, value]) => ({ key, value, at: { offset: at.offset, where: at.where || id } })),
    ),
  ];
  for (const { key, value, at } of fields)
    if (isTestsFirstKey(key) && !isTestsFirstValue(value))
      diagnostics.problems.push({ ...at, rule: `${key} must be one of ${TESTS_FIRST_MODES.join(', ')}` });
}
