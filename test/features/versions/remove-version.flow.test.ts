import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildAgentVersion } from '../../support/agents/build-agent-version.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';

const VERSION = '9.9.3';
const RUN = 'version1';

let home: ScriptedHome;
beforeAll(async () => {
  home = openScriptedHome();
  await buildAgentVersion(VERSION, '#!/bin/sh\n');
});
afterAll(() => home.remove());

const agent = (...words: string[]) => {
  const { home: HALO_HOME } = home.host;
  // No registry of npm.
  const env = { HALO_HOME, npm_config_registry: 'http://127.0.0.1:9', npm_config_fetch_retries: '0' };
  return callHalo(['agent', ...words], { cwd: HALO_HOME, env });
};

/** A run that has not ended, and whose settings choose the version. */
async function addRunWithVersion(): Promise<void> {
  await home.addRunningRun(RUN, 1);
  const path = join(home.host.home, 'runs', RUN, 'run.json');
  const record = JSON.parse(readFileSync(path, 'utf8')) as { config: object };
  const config = { ...record.config, agent: 'codex', agentVersions: { codex: VERSION } };
  writeFileSync(path, JSON.stringify({ ...record, config }));
}

it('halo agent rm removes a version that is neither pinned nor used by a run', async () => {
  expect(await agent('pin', 'codex', VERSION)).toMatchObject({ code: 0 });
  const pinned = await agent('rm', 'codex', VERSION);
  expect(pinned).toMatchObject({ code: 6, stderr: expect.stringContaining(`Codex ${VERSION} is pinned.`) as string });
  await agent('pin', 'codex', '--off');

  await addRunWithVersion();
  const used = await agent('rm', 'codex', VERSION);
  expect(used.stderr).toContain(`The run ${RUN}, which has not ended, uses Codex ${VERSION}.`);
  expect(used.code).toBe(6);
  expect((await agent('ls')).stdout).toMatch(new RegExp(`^codex .* 9\\.9\\.3 \\(\\d+b, in use\\)`, 'm'));

  await home.append(RUN, { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'Cancelled.' });
  expect(await agent('rm', 'codex', VERSION)).toMatchObject({ code: 0, stdout: `removed  Codex ${VERSION}\n` });
  const again = await agent('rm', 'codex', VERSION);
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('is not installed') as string });
});
