import { HaloError } from '../core/failure/errors.ts';
import type { Prd } from '../core/prd/prd.ts';
import { resolveTestsFirst } from '../core/prd/tests-first-field.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { listSome } from '../lib/text.ts';

const MAX_NAMED = 10;

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
