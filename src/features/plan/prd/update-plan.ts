import { HaloError } from '../../../core/failure/errors.ts';
import type { Story } from '../../../core/prd/prd.ts';
import { storyKey } from '../../../core/run/story-key.ts';
import { escapeJson } from '../../../core/text/safe-text.ts';
import { DIALECTS, type DialectId } from '../../../prd/dialect-registry.ts';
import type { Dialect, DraftStory, JsonDocument, ReadFile } from '../../../prd/dialect.ts';
import { applyEdits, type Edit } from '../../../prd/json/edit-json.ts';
import { findStoryList } from '../../../prd/json/find-list.ts';
import { parseJsonWithPositions } from '../../../prd/json/json-positions.ts';
import type { Checkbox } from '../../../prd/markdown/checkboxes.ts';
import { readIssueBullets } from '../../../prd/markdown/issue-bullets.ts';
import { readBlocks, type MarkdownDocument } from '../../../prd/markdown/blocks.ts';
import { parsePrd, readPrdFile, type ReadPrd } from '../../../prd/parse-prd.ts';
import type { PlannedPrd, PlannedStory } from './read-planned.ts';

export interface UpdatedPlan {
  text: string;
  /** Ids of stories. `kept`: done, excluded, or an open issue that the agent left out; unchanged byte for byte. */
  added: string[];
  changed: string[];
  removed: string[];
  kept: string[];
  /** Stories of the agent that are not used, because a done or excluded story has their id. */
  ignored: string[];
}

/** The dialects of new plans. */
const PLAN_DIALECTS = { json: 'ralph', markdown: 'markdown-numbered' } as const satisfies Record<string, DialectId>;

/** The text of a new plan. Throws PRD_INVALID if the stories cannot be represented. */
export function writePlan({ project, stories }: PlannedPrd, to: keyof typeof PLAN_DIALECTS, path: string): UpdatedPlan {
  const dialect: Dialect = DIALECTS[PLAN_DIALECTS[to]];
  assertDependencies(stories, [], path);
  const all = stories.map((story, index) => toStory(story, to === 'json' ? index + 1 : undefined));
  const text = dialect.write({ project, description: '', context: [], stories: all });
  const added = stories.map(({ id }) => id);
  assertWritten(text, { path, stories: all, kept: [], byId: true });
  return { text, added, changed: [], removed: [], kept: [], ignored: [] };
}

/**
 * Throws PRD_INVALID if the stories of an existing plan are in several places, so that `updatePlan` could not replace them:
 * known before an agent is paid.
 */
export function assertUpdatable(before: Uint8Array, path: string): void {
  const { dialect, draft, document } = readPlan(before, path);
  const changes: PlanChanges = {
    replaced: draft.stories.map((place) => ({ draft: place, story: undefined })),
    added: [],
  };
  const write = () => '';
  const text =
    document.format === 'json' ? replaceMembers(document, changes, write) : replaceBoxes(document, changes, write);
  if (text === undefined) throw notUpdatable(path, dialect);
}

/**
 * Updates an existing plan: open stories are replaced with those of the agent; done and excluded ones stay byte for byte, as
 * do open issues.
 * Throws PRD_INVALID if the plan cannot be parsed or cannot represent the stories.
 */
export function updatePlan(before: Uint8Array, { stories: planned }: PlannedPrd, path: string): UpdatedPlan {
  const { dialect, document, hadMark, draft, prd } = readPlan(before, path);
  const byId = dialect.id !== 'markdown-checkbox';
  const isOpen = ({ status }: Story) => status === 'pending' || status === 'in_progress';
  const kept = prd.stories.filter((story) => !isOpen(story));
  const isKept = ({ id, title }: PlannedStory) =>
    kept.some((story) => story.id.toLowerCase() === id.toLowerCase() || (!byId && story.title === title));
  const used = planned.filter((story) => !isKept(story));
  const find = (story: Story) => used.find(({ id, title }) => id === story.id || (!byId && title === story.title));
  const issues = prd.stories.filter((story) => isOpen(story) && isIssue(story) && find(story) === undefined);
  const unchanged = [...kept, ...issues];
  assertDependencies(used, unchanged, path);
  const priorities = prd.stories.flatMap(({ priority }) => priority ?? []);
  let next = priorities.length > 0 && priorities.length === prd.stories.length ? Math.max(...priorities) : undefined;
  const changes: PlanChanges = { replaced: [], added: [] };
  const result: UpdatedPlan = { text: '', added: [], changed: [], removed: [], kept: [], ignored: [] };
  result.kept = unchanged.map(({ id }) => id);
  result.ignored = planned.filter(isKept).map(({ id }) => id);
  for (const [index, old] of prd.stories.entries()) {
    const place = draft.stories[index];
    if (place === undefined || !isOpen(old) || issues.includes(old)) continue;
    const wanted = find(old);
    if (wanted === undefined) {
      changes.replaced.push({ draft: place, story: undefined });
      result.removed.push(old.id);
    } else if (!isSame(old, wanted, byId)) {
      const { title, description, acceptance, dependsOn } = wanted;
      changes.replaced.push({ draft: place, story: { ...old, title, description, acceptance, dependsOn } });
      result.changed.push(old.id);
    }
  }
  for (const story of used) {
    if (prd.stories.some((old) => isOpen(old) && find(old) === story)) continue;
    if (next !== undefined) next += 1;
    changes.added.push(toStory(story, next));
    result.added.push(story.id);
  }
  const write = (story: Story) =>
    dialect.write({
      project: '',
      description: '',
      context: [],
      stories: [byId ? story : { ...story, dependsOn: [] }],
    });
  const text =
    document.format === 'json' ? replaceMembers(document, changes, write) : replaceBoxes(document, changes, write);
  if (text === undefined) throw notUpdatable(path, dialect);
  result.text = `${hadMark ? '\uFEFF' : ''}${text}`;
  const stories = used.map((story) => toStory(story, undefined));
  assertWritten(result.text, { path, stories, kept: unchanged, byId });
  return result;
}

/** Whether an issue of a tracker is the story: it is open there until it is closed there. */
function isIssue({ id }: Story): boolean {
  return /^#\d+$/.test(id);
}

function toStory({ id, title, description, acceptance, dependsOn }: PlannedStory, priority: number | undefined): Story {
  const texts = { title, description, acceptance, dependsOn, notes: '', extra: {} };
  return { id, storyKey: storyKey(id), ...texts, priority, status: 'pending' };
}

function isSame(old: Story, { title, description, acceptance, dependsOn }: PlannedStory, byId: boolean): boolean {
  const texts = (story: Omit<PlannedStory, 'id'>) => [story.title, story.description.trim(), story.acceptance];
  const isEqual = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const isNamed = description === '' && old.description === old.title;
  const before = isNamed ? { ...old, description: '' } : old;
  return (
    isEqual(texts(before), texts({ title, description, acceptance, dependsOn })) &&
    (!byId || isEqual([...old.dependsOn].sort(), [...dependsOn].sort()))
  );
}

function assertDependencies(stories: readonly PlannedStory[], kept: readonly Story[], path: string): void {
  const known = new Set([...stories, ...kept].map(({ id }) => id));
  for (const { id, dependsOn } of stories) {
    const missing = dependsOn.find((needed) => !known.has(needed));
    if (missing !== undefined) throw notWritten(path, `${id} depends on ${missing}, which is not a story of the plan`);
  }
}

interface Written {
  path: string;
  /** The open stories that it must have. */
  stories: readonly Story[];
  /** The stories that it must have unchanged. */
  kept: readonly Story[];
  byId: boolean;
}

/** The text as halo reads it must have exactly these stories: no text of the agent may be read as another one, or as done. */
function assertWritten(text: string, { path, stories, kept, byId }: Written): void {
  const found = parsePrd(new TextEncoder().encode(text), path).stories;
  for (const old of kept) {
    const same = found.find(({ id, status }) => id === old.id && status === old.status);
    const facts = ({ title, description, acceptance }: Story) => JSON.stringify([title, description, acceptance]);
    if (same === undefined || facts(same) !== facts(old)) throw notWritten(path, `it would change ${old.id}`);
  }
  for (const { id, title, acceptance } of stories) {
    const same = found.find((story) => (byId ? story.id === id : story.title === title));
    const isRead = same?.title === title && same.acceptance.length === acceptance.length;
    if (!isRead || (same.status !== 'pending' && same.status !== 'in_progress' && same.status !== 'blocked'))
      throw notWritten(path, `the text of ${id} would be read as something else`);
  }
  if (found.length !== stories.length + kept.length)
    throw notWritten(path, `${found.length} stories would be read instead of ${stories.length + kept.length}`);
}

function notWritten(path: string, why: string): HaloError {
  return new HaloError('PRD_INVALID', `The agent's plan cannot be written to ${path}: ${why}.`, {
    hint: 'Run `halo plan` again, or use --format json.',
  });
}

/** A plan is one file. Throws PRD_INVALID. */
function readPlan(
  bytes: Uint8Array,
  path: string,
): Omit<ReadFile, 'stories' | 'marks' | 'warnings'> & Omit<ReadPrd, 'files'> {
  const { files, ...read } = readPrdFile(bytes, path);
  const [file] = files;
  if (file === undefined || file.name !== undefined) throw notUpdatable(path, DIALECTS['task-file']);
  return { ...file, ...read };
}

function notUpdatable(path: string, { title }: Dialect): HaloError {
  return new HaloError('PRD_INVALID', `${path} cannot be updated: it is ${title}, with stories in several places.`, {
    hint: 'Convert it first with `halo prd convert --to ralph`, or name another plan with --prd.',
  });
}

/**
 * Replaces checkboxes, or bullets that name issues, that are stories; all other lines stay. New stories come after the last
 * open one. Undefined if the stories are neither. `write` returns a file with one story.
 */
function replaceBoxes(
  document: MarkdownDocument,
  { replaced, added }: PlanChanges,
  write: (story: Story) => string,
): string | undefined {
  const { text, boxes } = readIssueBullets(document);
  const places = replaced.map(({ draft, story }) => ({
    box: boxes.find(({ line }) => draft.at.offset >= line.offset && draft.at.offset <= line.end),
    story,
  }));
  const last = boxes.findLast(({ mark }) => mark.trim() === '') ?? boxes.at(-1);
  if (last === undefined || places.some(({ box }) => box === undefined)) return undefined;
  const hasBullets = boxes.every(({ markOffset }) => markOffset === undefined);
  const body = (story: Story) => (hasBullets ? withoutBox(bodyOf(write(story))) : bodyOf(write(story)));
  const edits = places.flatMap(({ box, story }): Edit[] => {
    if (box === undefined) return [];
    const { from, to } = rangeOf(text, box);
    return [{ from, to, text: story === undefined ? '' : body(story) }];
  });
  if (added.length > 0) {
    const { from, to } = rangeOf(text, last);
    const existing = edits.find((edit) => edit.from === from);
    const before = existing?.text ?? withLineEnd(text.slice(from, to));
    const others = edits.filter((edit) => edit !== existing);
    return applyEdits(text, [...others, { from, to, text: `${before}${added.map(body).join('')}` }]);
  }
  return applyEdits(text, edits);
}

/** From the start of a story's first line to the start of the line after its last one. */
function rangeOf(text: string, { line, lines }: Checkbox): { from: number; to: number } {
  const end = Math.max(line.end, ...lines.filter(({ kind }) => kind !== 'blank').map((each) => each.end));
  const newline = text.indexOf('\n', end);
  return { from: line.offset, to: newline < 0 ? text.length : newline + 1 };
}

function bodyOf(file: string): string {
  const box = readBlocks(file).boxes[0];
  if (box === undefined) throw new Error('a written story was not found');
  const { from, to } = rangeOf(file, box);
  return withLineEnd(file.slice(from, to));
}

/** The bullet of a story that is written with a checkbox. */
function withoutBox(body: string): string {
  return body.replace(/^- \[.\] /, '- ');
}

function withLineEnd(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

/**
 * Replaces stories in a JSON list; the text of all others stays. Undefined if the stories are not in one list. `write`
 * returns a file with one story.
 */
function replaceMembers(
  { text, found, form }: JsonDocument,
  { replaced, added }: PlanChanges,
  write: (story: Story) => string,
): string | undefined {
  if (form !== 'document' || found === undefined || found.list.kind !== 'array' || found.kind === 'group' || found.tags)
    return undefined;
  const members = found.members.map(({ at }) => at);
  const [first, last] = [members[0], members.at(-1)];
  if (first === undefined || last === undefined || found.list.items.length !== members.length) return undefined;
  const indent = /(?:^|\n)([ \t]*)$/.exec(text.slice(0, first.offset))?.[1];
  const isCompact = !text.slice(first.offset, first.end).includes('\n');
  const element = (story: Story) => memberText(write(story), isCompact ? undefined : indent);
  const kept = members.flatMap((at) => {
    const change = replaced.find(({ draft }) => draft.at.offset >= at.offset && draft.at.offset < at.end);
    if (change === undefined) return [text.slice(at.offset, at.end)];
    return change.story === undefined ? [] : [element(change.story)];
  });
  const between = indent === undefined ? ', ' : `,\n${indent}`;
  const items = [...kept, ...added.map(element)].join(between);
  return `${text.slice(0, first.offset)}${items}${text.slice(last.end)}`;
}

/** The text of the only story of a file, indented; undefined: on one line. */
function memberText(file: string, indent: string | undefined): string {
  const safe = escapeJson(file);
  const json = parseJsonWithPositions(safe, 'plan', { problems: [], warnings: [] });
  const at = findStoryList(json)?.members[0]?.at;
  if (at === undefined) throw new Error('a written story was not found');
  const value = at.value;
  if (indent === undefined) return escapeJson(JSON.stringify(value));
  return escapeJson(JSON.stringify(value, undefined, 2)).replaceAll('\n', `\n${indent}`);
}

/** The new content of the place of a story; undefined: it is removed. */
interface StoryReplacement {
  draft: DraftStory;
  story: Story | undefined;
}

/** The changes of a plan file. */
interface PlanChanges {
  replaced: StoryReplacement[];
  added: Story[];
}
