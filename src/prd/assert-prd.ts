import { HaloError } from '../core/failure/errors.ts';
import type { Prd, Story } from '../core/prd/prd.ts';
import { resolveTestsFirst } from '../core/prd/tests-first-field.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { closeSentence } from '../core/text/did-you-mean.ts';
import { listSome } from '../lib/text.ts';

const MAX_NAMED = 10;

/**
 * Checks the ids of the only stories to run, if any. Throws STORY_NOT_FOUND for an id that the PRD does not have, and
 * PRD_INVALID for a story that the PRD excludes, or that depends on a story which is neither done nor selected.
 */
export function assertSelection({ stories }: Prd, selected: readonly string[] | undefined, path: string): void {
  if (selected === undefined) return;
  const byId = new Map(stories.map((story) => [story.id, story]));
  const chosen = selected.map((id) => byId.get(id) ?? missing(id, stories, path));
  const excluded = chosen.filter(({ status }) => status === 'skipped' || status === 'blocked');
  if (excluded.length > 0)
    throw new HaloError('PRD_INVALID', `${path} marks ${nameAll(excluded)} as ${excluded[0]?.status ?? ''}.`, {
      hint: 'Change the status in the PRD, or select another story.',
    });
  const open = chosen.filter(({ status }) => status !== 'done');
  const needs = (story: Story) => story.dependsOn.flatMap((id) => byId.get(id) ?? []);
  const unmet = new Set(open.flatMap(needs).filter(({ id, status }) => status !== 'done' && !selected.includes(id)));
  if (unmet.size === 0) return;
  const waiting = open.filter((story) => needs(story).some((needed) => unmet.has(needed)));
  const verb = waiting.length === 1 ? 'depends' : 'depend';
  const isDone = unmet.size === 1 ? 'is not done' : 'are not done';
  throw new HaloError('PRD_INVALID', `${nameAll(waiting)} ${verb} on ${nameAll([...unmet])}, which ${isDone}.`, {
    hint: `Run ${unmet.size === 1 ? 'it' : 'them'} first, or select ${unmet.size === 1 ? 'it' : 'them'}, too.`,
  });
}

function missing(id: string, stories: readonly Story[], path: string): never {
  const ids = stories.map((story) => story.id);
  const name = JSON.stringify(safeLine(id, 100));
  throw new HaloError('STORY_NOT_FOUND', `${path} has no story ${name}${closeSentence(id, ids)}`, {
    hint: `Use one of its stories: ${nameAll(stories)}.`,
  });
}

function nameAll(stories: readonly Story[]): string {
  return listSome(
    stories.map(({ id }) => safeLine(id, 100)),
    MAX_NAMED,
  );
}

/** Throws CONFIG_INVALID if the PRD wants tests first for a story, and no setting says how they run. */
export function assertTestsCommand(prd: Prd, command: string | undefined, path: string): void {
  if (command !== undefined) return;
  const wanting = prd.stories.filter(
    (story) => !['done', 'skipped'].includes(story.status) && resolveTestsFirst('off', story, prd) !== 'off',
  );
  if (wanting.length === 0) return;
  const names = listSome(
    wanting.map(({ id }) => safeLine(id, 100)),
    MAX_NAMED,
  );
  throw new HaloError('CONFIG_INVALID', `${path} wants tests first for ${names}, but tests.command is not set.`, {
    hint: 'Set it in halo.toml, e.g. command = "npx vitest run --reporter=json {files}" in [tests] (docs/tests-first.md).',
  });
}
