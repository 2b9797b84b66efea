import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { grantOf, ROLES, type Grant } from '../../../src/core/access/access.ts';
import { ALL_OPERATIONS } from '../../../src/api/operations.ts';
import type { AnyOperation } from '../../../src/api/operations/operation.ts';

const PAGE = new URL('../../../docs/fleet.md', import.meta.url);

test('docs/fleet.md has the table of roles and operations', async () => {
  const text = await readFile(PAGE, 'utf8');
  const page = text.replace(/^\| viewer \|.*\n(?:\|.*\n)*/m, () => writeAccessTable());
  // With HALO_TEST_RECORD the page is written.
  if (process.env.HALO_TEST_RECORD !== undefined) await writeFile(PAGE, page);
  else expect(text).toBe(page);
  expect(text).toContain('\n| viewer |');
});

/** Which role may run which operation: a row for each combination of rights. */
function writeAccessTable(): string {
  const rights = [...new Set(ALL_OPERATIONS.map(rightsOf))];
  const table = rights.map((each) => {
    const names = ALL_OPERATIONS.filter((operation) => rightsOf(operation) === each).map(({ name }) => name);
    const links = names.map((name) => `[\`${name}\`](api.md#${name.toLowerCase()})`);
    return [...each.split(' '), links.join(', ')];
  });
  const head = [...ROLES, 'operations'];
  return [head, head.map(() => '---'), ...table].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

/** What each role may do with an operation. */
function rightsOf({ access, everywhere }: AnyOperation): string {
  return ROLES.map((role) => wordOf(grantOf(role, access), everywhere === true)).join(' ');
}

function wordOf(grant: Grant, everywhere: boolean): string {
  if (grant === 'none') return '-';
  if (grant === 'own') return 'own';
  return everywhere ? 'all' : 'yes';
}
