import { readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { OK, openHalo, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { makeRepository, type TestRepository } from '../../support/repository/repository.ts';
import { landedBy } from '../../support/faults/check-invariants.ts';

let halo: TestHalo;
let repository: TestRepository;
beforeEach(async () => {
  halo = await openHalo();
  repository = makeRepository();
});
afterEach(async () => {
  await halo.close();
  repository.remove();
});

const AGENT = `date +%N > "$(grep -oE 'Story [A-Z]' | head -n 1 | tr -d ' ')"; ${OK}`;

/** As a power cut could have left it, while halo did not yet wait for the disk. */
function damageMirror(): void {
  const [name = ''] = readdirSync(join(halo.home, 'repos'));
  const mirror = join(halo.home, 'repos', name, 'mirror.git');
  truncateSync(join(mirror, 'HEAD'), 0);
  for (const file of readdirSync(join(mirror, 'objects/pack'))) {
    const path = join(mirror, 'objects/pack', file);
    if (file.endsWith('.pack')) writeFileSync(path, Buffer.alloc(statSync(path).size));
  }
}

it(
  'hazard 47: a run whose mirror is damaged between two stories goes on, and later ones work',
  { timeout: 300_000 },
  async () => {
    const runId = await halo.submit(repository.root, [{ id: 'A' }, { id: 'B' }], scripted(AGENT));
    for await (const { type } of halo.operations.follow(runId, { after: 0, follow: true })) {
      if (type !== 'story.ended') continue;
      damageMirror();
      break;
    }
    expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'SUCCESS' });
    expect(landedBy(repository, runId)).toEqual([`${runId} A`, `${runId} B`]);
    damageMirror();
    expect((await halo.operations.diff(runId, 'B')).toString()).toContain('StoryB');
    damageMirror();
    expect(await halo.run(repository.root, [{ id: 'A' }], scripted(AGENT))).toMatchObject({ stopReason: 'SUCCESS' });
    expect(repository.git('fsck', '--strict', '--no-dangling', '--no-progress')).toBe('');
  },
);
