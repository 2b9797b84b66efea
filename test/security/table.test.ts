import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ATTACKS, idsIn } from './attacks.ts';

const names = (readdirSync(import.meta.dirname, { recursive: true }) as string[])
  .filter((file) => file.endsWith('.test.ts'))
  .flatMap((file) => [...readFileSync(join(import.meta.dirname, file), 'utf8').matchAll(/^describe[^']*'([^']*)'/gm)])
  .map(([, name = '']) => name);
const tried = names.flatMap(idsIn);

describe('the table of attacks', () => {
  it('has a test for each of its rows', () => {
    expect(ATTACKS.map(({ id }) => id).filter((id) => !tried.includes(id))).toEqual([]);
  });

  it('has a row for each attack that a test names', () => {
    expect(tried.filter((id) => !ATTACKS.some((attack) => attack.id === id))).toEqual([]);
  });
});
