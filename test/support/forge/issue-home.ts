import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as base } from '../fixtures.ts';
import { scripted } from '../halo/halo.ts';
import { openHome, type HaloHome } from '../halo/halo-process.ts';
import { callHalo } from '../terminal/call-halo.ts';
import { FAKE_PROJECT, openFakeForge } from './fake-forge.ts';

export const SOURCE = `github:${FAKE_PROJECT}`;

/** Tests with a fake GitHub, a HALO_HOME that knows it, and `command`, which runs halo with its token in the repository. */
const test = base
  .extend('forge', async ({}, { onCleanup }) => {
    const forge = await openFakeForge('github');
    onCleanup(() => forge.close());
    return forge;
  })
  .extend('haloHome', ({ forge }, { onCleanup }) => {
    const haloHome = openHome();
    onCleanup(() => haloHome.close());
    const table = `[forge.github]\nurl = ${JSON.stringify(forge.url)}\ntoken_env = "TEST_FORGE_TOKEN"\n`;
    writeFileSync(join(haloHome.dir, 'config.toml'), table);
    return haloHome;
  })
  .extend('command', ({ forge, haloHome, repository }) => (words: string[], env: Record<string, string> = {}) => {
    return haloHome.halo(words, { cwd: repository.root, env: { TEST_FORGE_TOKEN: forge.token, ...env } });
  });

/** The same with commands in this process instead of one of their own, one at a time. */
const quick = test.extend('command', ({ forge, haloHome, repository }) =>
  (words: string[], env = {}) => {
    const variables = { HALO_HOME: haloHome.dir, TEST_FORGE_TOKEN: forge.token, ...env };
    return callHalo(words, { cwd: repository.root, env: variables });
  });

export { test as it, quick as itInProcess };

/** The options of a run with a scripted agent. */
export function withAgent(script: string): string[] {
  return scripted(script, ['true']).flatMap((pair) => ['-c', pair]);
}

/** Switches reports to issues on. */
export function report({ dir }: HaloHome): void {
  appendFileSync(join(dir, 'config.toml'), '[issues]\nreport = true\n');
}

/** The id of the run that `halo run` has executed, by the run directory on its last line. */
export function runIdOf({ stdout }: { stdout: string }): string {
  const dir = stdout.trimEnd().split('\n').at(-1) ?? '';
  return (JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8')) as { runId: string }).runId;
}
