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
import { didYouMean } from '../core/text/did-you-mean.ts';
import { oneLine } from '../lib/text.ts';
import { addContractDiagnostics } from './contract-rules.ts';
import {
  describeProblems,
  describeWarnings,
  listProblems,
  locationOf,
  type Diagnostics,
  type Place,
  type PrdWarning,
  type SourceLocation,
} from './diagnostics.ts';
import { detectDialect, DIALECTS, type DialectId, matchesDialect } from './dialect-registry.ts';
import type { ContextEntry, Dialect, Draft, DraftStory, FilesDraft, PrdDocument, ReadFile } from './dialect.ts';
import type { FolderOptions } from './folder/folder-reading.ts';
import { isFolderText, readFolderText, type PrdFolder } from './folder/folder-text.ts';
import { isBmadFolder, readBmadFolder } from './folder/read-bmad-folder.ts';
import { readTaskFolder } from './folder/read-task-folder.ts';
import { lineFinder } from './json/json-positions.ts';
import { openDocument } from './open-document.ts';
import { hashSpecification } from './spec-hash.ts';
import { resolveDependencies } from './story/dependencies.ts';
import { reportLookAlikeIds } from './story/story-ids.ts';

/** A parsed PRD with its files: one, or those of a folder. */
export interface ReadPrd {
  files: ReadFile[];
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
  const { files, draft } = readPrdFile(bytes, path, { as: dialectOfPlace(path) });
  const lacking = draft.stories.filter(
    ({ acceptance, status }) => acceptance.length === 0 && !['done', 'skipped'].includes(status),
  );
  if (lacking.length === 0) return;
  const problems = lacking.map(({ id, at }) => ({
    ...locationOf(at),
    where: at.where || id,
    rule: 'has no acceptance criteria',
  }));
  const placeOf = placesIn(files, path);
  throw new HaloError('PRD_INVALID', describeProblems(problems, placeOf), {
    hint: 'Give each story at least one criterion that can be checked; `prd.criteria` is "required" (docs/prd.md).',
    problems: listProblems(problems, placeOf),
  });
}

/**
 * Like `parsePrd`, but returns the files and the draft as well. `path` is used in messages only.
 * `as`: parse the file as this dialect; its shape must match. `isStrict`: with the rules of that tool.
 */
export function readPrdFile(
  bytes: Uint8Array,
  path: string,
  { as, isStrict = false }: { as?: DialectId | undefined; isStrict?: boolean } = {},
): ReadPrd {
  const diagnostics: Diagnostics = { problems: [], warnings: [] };
  const { files, ...draft } = isFolderText(bytes)
    ? readFolder(readFolderText(bytes, path), { path, as, diagnostics })
    : readOneFile(bytes, path, { as, isStrict, diagnostics });
  addTestsFirstDiagnostics(draft, diagnostics);
  reportLookAlikeIds(draft.stories, diagnostics);
  const stories = resolveDependencies(draft.stories, diagnostics);
  const [first] = files;
  if (diagnostics.problems.length > 0)
    throw invalid(diagnostics, placesIn(files, path), { dialect: first?.dialect, isStrict });
  const prd: Prd = {
    dialect: first?.dialect.id ?? '',
    project: draft.project,
    description: draft.description,
    context: draft.about.flatMap((about) => finishContext(about, stories)),
    stories: stories.map(finishStory),
    warnings: [],
    hash: createHash('sha256').update(bytes).digest('hex'),
    specHash: hashSpecification(draft),
  };
  const warnings = [...diagnostics.warnings, ...findCutTexts(prd)];
  const byFile = groupByFile(stories, ({ at }) => at.file);
  const byMark = groupByFile(stories, ({ at, markFile }) => markFile ?? at.file);
  return {
    files: files.map((file) => ({
      ...file,
      stories: byFile.get(file.name) ?? [],
      marks: byMark.get(file.name) ?? [],
    })),
    draft: { ...draft, stories },
    prd: { ...prd, warnings: describeWarnings(warnings) },
  };
}

function readFolder(folder: PrdFolder, options: FolderOptions): FilesDraft {
  return isBmadFolder(folder) ? readBmadFolder(folder, options) : readTaskFolder(folder, options);
}

function groupByFile(
  stories: DraftStory[],
  fileOf: (story: DraftStory) => string | undefined,
): Map<string | undefined, DraftStory[]> {
  const groups = new Map<string | undefined, DraftStory[]>();
  for (const story of stories) {
    const group = groups.get(fileOf(story));
    if (group === undefined) groups.set(fileOf(story), [story]);
    else group.push(story);
  }
  return groups;
}

/** The paths of the files that a PRD was read from, below its own path; undefined: it is one file. Throws PRD_INVALID. */
export function filesOfPrd({ bytes, path }: PrdFile): string[] | undefined {
  return isFolderText(bytes) ? readPrdFile(bytes, path).files.flatMap(({ name }) => name ?? []) : undefined;
}

interface FileOptions {
  as: DialectId | undefined;
  isStrict: boolean;
  diagnostics: Diagnostics;
}

function readOneFile(bytes: Uint8Array, path: string, { as, isStrict, diagnostics }: FileOptions): FilesDraft {
  const { document, hadMark } = openDocument(bytes, path, diagnostics);
  const dialect = chooseDialect(document, path, as);
  const draft = readDraft(dialect, document, diagnostics);
  if (isStrict) addContractDiagnostics(dialect.id, document, diagnostics);
  const { stories } = draft;
  return {
    ...draft,
    files: [{ document, hadMark, dialect, stories, marks: stories, warnings: [...diagnostics.warnings] }],
  };
}

/** Finds path and line of locations in a PRD. */
function placesIn(files: readonly Pick<ReadFile, 'name' | 'document'>[], path: string): (at: SourceLocation) => Place {
  const finders = new Map(
    files.map(({ name, document }, order) => [name, { order, lineOf: lineFinder(document.text) }]),
  );
  return ({ file, offset }) => {
    const { order, lineOf } = finders.get(file) ?? { order: 0, lineOf: () => 1 };
    return { path: file === undefined ? path : `${path}/${file}`, line: lineOf(offset), order };
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
  { problems }: Diagnostics,
  placeOf: (at: SourceLocation) => Place,
  { dialect, isStrict }: { dialect: Dialect | undefined; isStrict: boolean },
): HaloError {
  const rules = isStrict ? `, with the rules of ${dialect?.id ?? ''} (docs/prd.md, "Strict validation")` : '';
  return new HaloError('PRD_INVALID', describeProblems(problems, placeOf), {
    hint: `Fix these problems. The file was read as ${dialect?.title ?? ''}${rules}.`,
    problems: listProblems(problems, placeOf),
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

/** Describes a document without stories, for an error message. */
function describeDocument(document: PrdDocument): string {
  if (document.format === 'markdown') return 'it has no checkbox ("- [ ] text") and no story heading';
  const { json } = document;
  if (json.kind !== 'object') return `the top level is ${json.kind === 'array' ? 'a list' : `a ${json.kind}`}`;
  if (json.members.size === 0) return 'the top level is an empty object';
  const keys = [...json.members.keys()].slice(0, 20).map((key) => JSON.stringify(key));
  return `its top-level keys are ${keys.join(', ')}${json.members.size > 20 ? ', …' : ''}`;
}

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
        .map(([key, value]) => ({ key, value, at: { ...locationOf(at), where: at.where || id } })),
    ),
  ];
  for (const { key, value, at } of fields)
    if (isTestsFirstKey(key) && !isTestsFirstValue(value))
      diagnostics.problems.push({
        ...at,
        rule: `${key} must be one of ${TESTS_FIRST_MODES.join(', ')}${didYouMean(value, TESTS_FIRST_MODES)}`,
      });
}
