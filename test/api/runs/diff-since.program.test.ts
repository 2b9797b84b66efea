import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { addSecondRound } from '../../support/halo/second-round.ts';

describe('the change since a commit was sent back', () => {
  let home: ScriptedHome;
  beforeEach(() => {
    home = openScriptedHome();
  });
  afterEach(() => home.remove());

  it('is what the two commits of the story differ in', async () => {
    await addSecondRound(home);
    const patch = (await home.operations.readDiff({ runId: 'heldrun1', story: 'US-001', since: 1 })).toString();
    expect(patch).toContain('-second\n+third\n');
    expect(patch).not.toContain('total.ts');
  });

  it('has no files that only another story changed', async () => {
    await addSecondRound(home, { 'docs/other.md': 'other\n' });
    const patch = (await home.operations.readDiff({ runId: 'heldrun1', story: 'US-001', since: 1 })).toString();
    expect(patch).toContain('-second\n+third\n');
    expect(patch).not.toContain('other.md');
  });

  it('is refused for attempts that were not sent back, and for commits that are not stored any more', async () => {
    const mirrorDir = await addSecondRound(home);
    await expect(home.operations.readDiff({ runId: 'heldrun1', story: 'US-001', since: 2 })).rejects.toMatchObject({
      code: 'USAGE',
      hint: 'Commits of these attempts were: 1.',
    });
    await expect(home.operations.readDiff({ runId: 'heldrun1', since: 1 })).rejects.toMatchObject({ code: 'USAGE' });
    rmSync(join(mirrorDir, '..', 'held.git'), { recursive: true });
    await expect(home.operations.readDiff({ runId: 'heldrun1', story: 'US-001', since: 1 })).rejects.toMatchObject({
      code: 'ARTIFACT_UNREADABLE',
      message: 'The commit of attempt 1 at story US-001 is not stored any more.',
    });
  });
});
