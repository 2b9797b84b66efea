import { cpSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { assertOnlyHome } from '../../src/store/home-place.ts';
import { tempDir } from '../support/temp-dir.ts';

let home: string;
let other: string;
beforeEach(async () => {
  home = join(tempDir('halo-place'), 'home');
  other = `${home}-2`;
  cpSync(tempDir('halo-place-new'), home, { recursive: true });
  writeFileSync(join(home, 'id'), '0123456789ab\n');
  await assertOnlyHome(home);
});

const placeOf = (dir: string) => readFileSync(join(dir, 'place'), 'utf8');

it('hazard 57: a copy of a home is refused while the original exists, and becomes a home of its own with another id', async () => {
  cpSync(home, other, { recursive: true });
  await expect(assertOnlyHome(other)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await assertOnlyHome(home);
  writeFileSync(join(other, 'id'), 'ba9876543210\n');
  await assertOnlyHome(other);
  expect(placeOf(other)).toBe(`${other}\n`);
});

it('a copy is accepted when the original is gone', async () => {
  cpSync(home, other, { recursive: true });
  rmSync(home, { recursive: true });
  await assertOnlyHome(other);
  expect(placeOf(other)).toBe(`${other}\n`);
});

it('a home that was moved is accepted, also through a link in its old place', async () => {
  renameSync(home, other);
  symlinkSync(other, home);
  await assertOnlyHome(home);
  await assertOnlyHome(other);
  expect(placeOf(other)).toBe(`${other}\n`);
});

it.each(['', '\0\0\0', '/', 'nowhere'])('a damaged note, %j, is written again', async (text) => {
  writeFileSync(join(home, 'place'), text);
  await assertOnlyHome(home);
  expect(placeOf(home)).toBe(`${home}\n`);
});
