import { findHidden, lookOf, spellOut } from '../core/look-alike.ts';
import type { DraftStory } from './dialect.ts';
import type { Findings, Place } from './findings.ts';

const LONGEST_ID = 200;

/** Why a text cannot be a story id; undefined when it can. */
export function findIdFault(id: string): string | undefined {
  if (id === '') return 'is empty';
  if (id.length > LONGEST_ID) return `is longer than ${LONGEST_ID} characters`;
  const hidden = findHidden(id);
  return hidden === undefined ? undefined : `holds a control character or a hidden one (${hidden})`;
}

/** Adds a problem for each id that cannot be told from another one on a screen. */
export function refuseLookAlikes(stories: DraftStory[], findings: Findings): void {
  const first = new Map<string, DraftStory>();
  for (const story of stories) {
    const look = lookOf(story.id);
    const earlier = first.get(look);
    if (earlier === undefined) first.set(look, story);
    else if (earlier.id !== story.id) {
      const pair = `${spellOut(story.id)} looks like the id ${spellOut(earlier.id)} of ${earlier.at.where}`;
      findings.problems.push({ ...idPlace(story), rule: `the id ${pair}` });
    }
  }
}

/** Adds a problem for each id that another story has already. */
export function refuseDuplicates(stories: DraftStory[], findings: Findings): void {
  const first = new Map<string, Place>();
  for (const story of stories) {
    const { id } = story;
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, story.at);
    else findings.problems.push({ ...idPlace(story), rule: `the id "${id}" is taken by ${earlier.where} already` });
  }
}

/**
 * Makes ids unique: where at most one story of an id is not done and nothing depends on the id,
 * the others become `id~2`, `id~3`, …, with a warning. Any other duplicate is a problem.
 */
export function renameDoneDuplicates(stories: DraftStory[], findings: Findings): DraftStory[] {
  const groups = groupById(stories);
  const depended = new Set(stories.flatMap(({ dependsOn }) => dependsOn.map(({ id }) => id)));
  const newIds = new Map<DraftStory, string>();
  for (const [id, group] of groups) {
    const open = group.filter(({ status }) => status !== 'done');
    if (group.length === 1) continue;
    if (open.length > 1 || depended.has(id)) {
      refuseDuplicates(group, findings);
      continue;
    }
    const keeper = open[0] ?? group[0];
    let number = 2;
    for (const story of group) {
      if (story === keeper) continue;
      while (groups.has(`${id}~${number}`)) number++;
      newIds.set(story, `${id}~${number++}`);
    }
    findings.warnings.push({
      story: undefined,
      text: `the id "${id}" is there ${group.length} times; done ones renamed`,
    });
  }
  return stories.map((story) => ({ ...story, id: newIds.get(story) ?? story.id }));
}

function groupById(stories: DraftStory[]): Map<string, DraftStory[]> {
  const groups = new Map<string, DraftStory[]>();
  for (const story of stories) {
    const group = groups.get(story.id);
    if (group === undefined) groups.set(story.id, [story]);
    else group.push(story);
  }
  return groups;
}

function idPlace({ at, mark }: DraftStory): Place {
  return { where: mark.kind === 'json' ? `${at.where}.id` : at.where, offset: at.offset };
}
