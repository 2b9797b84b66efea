import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { initConfig } from '../../src/api/repository/init-config.ts';
import { HaloError } from '../../src/core/failure/errors.ts';
import { makeRepository, type TestRepository } from '../support/repository/repository.ts';

let home: string;
let repository: TestRepository | undefined;

beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'halo-home-'))));
afterEach(() => {
  repository?.remove();
  rmSync(home, { recursive: true, force: true });
});

const host = () => ({ home, redisUrl: undefined, apiUrl: undefined, apiToken: undefined });

async function init(files: Record<string, string>, lacking: string[] | Error = []) {
  repository = makeRepository(files);
  const asked: [string, readonly string[]][] = [];
  const missingIn = (image: string, programs: readonly string[]) => {
    asked.push([image, programs]);
    return lacking instanceof Error ? Promise.reject(lacking) : Promise.resolve(lacking);
  };
  const made = await initConfig({ host: host(), folder: repository.root, force: false, missingIn });
  return { ...made, asked, text: readFileSync(made.path, 'utf8') };
}

const NODE = {
  'package.json': '{"scripts": {"test": "x"}}',
  'package-lock.json': '{}',
  '.gitignore': 'node_modules\n',
};

test('halo init allows the registry of the setup that it guesses, and finds the PRD', async () => {
  const made = await init({ ...NODE, 'scripts/ralph/prd.json': '{}' });
  expect(made).toMatchObject({ setup: ['npm ci'], registries: ['npm'], warnings: [], prd: 'scripts/ralph/prd.json' });
  expect(made.text).toContain('\nregistries = ["npm"]\n');
  expect(made.asked).toEqual([['halo-sandbox', ['npm']]]);
});

test('halo init says which of the tools that it guessed the image lacks', async () => {
  const { warnings, prd } = await init({ 'go.mod': 'module x\n' }, ['go']);
  expect(warnings).toEqual(['go is not in the image halo-sandbox: set `image` to one that has it (docs/images.md).']);
  expect(prd).toBeUndefined();
});

test('halo init says when nobody could look', async () => {
  const { warnings } = await init(NODE, new HaloError('DOCKER_UNAVAILABLE', 'Docker does not answer.'));
  expect(warnings).toEqual(['Whether the image halo-sandbox has npm could not be looked up: Docker does not answer.']);
});

test('halo init says what git must ignore so that the gates find it', async () => {
  const { warnings } = await init({ 'go.mod': 'module x\n', 'go.sum': '' });
  expect(warnings).toEqual([
    'Add /.go-modules/ to .gitignore: what setup puts there is removed before the gates unless git ignores it.',
  ]);
});
