import { readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { landedBy } from '../../support/faults/check-invariants.ts';

const AGENT = `date +%N > "$(grep -oE 'Story [A-Z]' | head -n 1 | tr -d ' ')"; ${OK}`;

const SETTINGS = scripted(AGENT, ['true'], ['retry.infrastructure.backoff="10ms"']);

/** As a power cut could have left it, while halo did not yet wait for the disk. */
function damageMirror(home: string): void {
  const [name = ''] = readdirSync(join(home, 'repos'));
  const mirror = join(home, 'repos', name, 'mirror.git');
  truncateSync(join(mirror, 'HEAD'), 0);
  for (const file of readdirSync(join(mirror, 'objects/pack'))) {
    const path = join(mirror, 'objects/pack', file);
    if (file.endsWith('.pack')) writeFileSync(path, Buffer.alloc(statSync(path).size));
  }
}

it(
  'hazard 47: a run whose mirror is damaged between two stories continues, and later runs work',
  { timeout: 300_000 },
  async ({ halo, repository }) => {
    const runId = await halo.submit(repository.root, [{ id: 'A' }, { id: 'B' }], SETTINGS);
    for await (const {
      event: { type },
    } of await halo.operations.followEvents({ runId, after: 0, follow: true })) {
      if (type !== 'story.ended') continue;
      damageMirror(halo.home);
      break;
    }
    expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'SUCCESS' });
    expect(landedBy(repository, runId)).toEqual([`${runId} A`, `${runId} B`]);
    damageMirror(halo.home);
    expect((await halo.operations.readDiff({ runId, story: 'B' })).toString()).toContain('StoryB');
    damageMirror(halo.home);
    expect(await halo.run(repository.root, [{ id: 'A' }], SETTINGS)).toMatchObject({ stopReason: 'SUCCESS' });
    expect(repository.git('fsck', '--strict', '--no-dangling', '--no-progress')).toBe('');
  },
);
