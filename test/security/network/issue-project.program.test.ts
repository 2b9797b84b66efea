import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { User } from '../../../src/core/access/access.ts';
import { OPERATIONS } from '../../../src/api/operations.ts';
import { FAKE_PROJECT, openFakeForge, type FakeForge } from '../../support/forge/fake-forge.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** A user who may use some repositories, and issues of another project that the token of the server can read. */

let forge: FakeForge;
let home: ScriptedHome;
const folder = newRepository().root;

beforeAll(async () => {
  forge = await openFakeForge('github');
  home = openScriptedHome();
  const table = `[forge.github]\nurl = ${JSON.stringify(forge.url)}\ngit_url = "https://git.example.com"\ntoken_env = "TEST_FORGE_TOKEN"\n`;
  writeFileSync(join(home.host.home, 'config.toml'), table);
  vi.stubEnv('TEST_FORGE_TOKEN', forge.token);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await home.remove();
  await forge.close();
});

/** A submit of issues of the project of the forge, which has none. Returns how it ends. */
function submit(user: Omit<User, 'name'>, repo: string): Promise<string> {
  const call = home.operations.callFor({ name: 'lim', ...user });
  const options = { profile: undefined, set: [], allowDirty: true };
  return call(OPERATIONS.submitIssues, { source: `github:${FAKE_PROJECT}`, repo, ...options }).then(
    () => 'submitted',
    ({ code }: { code: string }) => code,
  );
}

describe('incident issue-project: a user with a list of repositories submits issues', () => {
  it('of another project: nothing is asked of the forge', async () => {
    const list = [folder, 'https://git.example.com/team/*'];
    for (const repo of [folder, 'https://git.example.com/team/x', `https://git.example.com/${FAKE_PROJECT}`])
      expect(await submit({ role: 'operator', repositories: list }, repo)).toBe('ACCESS_DENIED');
    expect(forge.log).toEqual([]);
  });

  it.each<[string, string[] | undefined, string]>([
    ['of the project of the address', ['git@git.example.com:acme/*'], `git@git.example.com:${FAKE_PROJECT}.git`],
    ['of a project on the list', [folder, 'https://git.example.com/acme/*'], folder],
    ['without a list', undefined, folder],
  ])('%s: they are read', async (_name, repositories, repo) => {
    expect(await submit({ role: 'submitter', repositories }, repo)).toBe('NOTHING_RUNNABLE');
  });
});
