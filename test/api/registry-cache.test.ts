import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkCache } from '../../src/features/retention/api/checks.ts';
import { openScriptedHome } from '../support/halo/scripted-home.ts';

it('doctor shows the size of the registry cache, and prune applies a maximum that was lowered', async () => {
  const scripted = openScriptedHome();
  const { home } = scripted.host;
  const folder = join(home, 'cache/registry/sha256/aa');
  mkdirSync(folder, { recursive: true });
  for (const last of '12') writeFileSync(join(folder, 'a'.repeat(63) + last), Buffer.alloc(1024 ** 2));
  expect(await checkCache(home)).toEqual({
    name: 'cache',
    ok: 'ok',
    says: 'archives of registries take 2m of at most 5g (network.cache_size)',
  });
  writeFileSync(join(home, 'config.toml'), '[network]\ncache_size = "1m"\n');
  expect(await checkCache(home)).toMatchObject({ ok: 'warn', fix: 'remove the surplus with `halo prune`' });
  const removed = [{ runId: null, mirror: null, what: 'cache', bytes: 1024 ** 2 }];
  expect(await scripted.operations.prune({ dryRun: true })).toMatchObject({ removed });
  expect(await scripted.operations.prune({})).toMatchObject({ removed, bytes: 1024 ** 2 });
  expect(await checkCache(home)).toMatchObject({ ok: 'ok' });
  expect(await scripted.operations.prune({})).toMatchObject({ removed: [] });
  await scripted.remove();
});
