import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hostOf } from '../../support/halo/host.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

it.each([
  ['halo-sandbox and the pinned versions of agents', [], ['halo-sandbox', 'halo-agent-codex:9.9.9']],
  ['only the image that is named', ['shop'], ['shop']],
])('halo image push sends %s', async (_what, named, images) => {
  const home = tempDir();
  writeFileSync(join(home, 'config.toml'), '[agents.codex]\nversion = "9.9.9"\n');
  const sent: string[] = [];
  const pushImage = ({ engine, image }: { engine: string; image: string }) => {
    sent.push(`${engine} ${image}`);
    return Promise.resolve({ content: `digest of ${image}`, bytes: 1 });
  };
  const services = { pushImage, readHost: () => Promise.resolve(hostOf(home)) };
  const ended = await runCli(['image', 'push', 'build-1', ...named], { operations: openMemory(), services });
  expect(sent).toEqual(images.map((image) => `build-1 ${image}`));
  expect(ended.stdout).toBe(images.map((image) => `digest of ${image}\n`).join(''));
});
