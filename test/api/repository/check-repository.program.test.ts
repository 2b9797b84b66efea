import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkRepository } from '../../../src/api/repository/check-repository.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';

test.each([
  ['command', 'run', './tools/agent.sh'],
  ['command', 'run', 'sh -eu tools/agent.sh --fast'],
  ['own', 'acp', 'exec ./tools/agent.sh'],
])('halo check refuses agents.%s.%s = "%s" while git does not track the script', async (agent, key, run) => {
  const { root } = newRepository({
    'halo.toml': `agent = "${agent}"\ngates = ["true"]\n[agents.${agent}]\n${key} = "${run}"\n`,
  });
  mkdirSync(join(root, 'tools'));
  writeFileSync(join(root, 'tools/agent.sh'), '#!/bin/sh\n');
  chmodSync(join(root, 'tools/agent.sh'), 0o755);
  const query = {
    folder: root,
    profile: undefined,
    set: [],
    signal: AbortSignal.abort(),
    tell: () => Promise.resolve(),
  };
  await expect(checkRepository(hostOf(tempDir('halo-home')), query)).rejects.toMatchObject({
    code: 'DIRTY_WORKTREE',
    message: `tools/agent.sh, which agents.${agent}.${key} names, is not in the commit.`,
    hint: 'Add it with `git add tools/agent.sh`, and commit it.',
  });
});
