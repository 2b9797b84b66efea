import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';

/** A change that was replaced between the review and the decision of a person. */

const [HELD, LANDED] = ['0tbq1aaaaaaaaaaa', '0tbq2bbbbbbbbbbb'];
const seen = { commit: 'f'.repeat(40) };

let home: ScriptedHome;
beforeEach(() => {
  home = openScriptedHome();
});
afterEach(() => home.remove());

describe('incident swapped-commit: a decision on another commit than the one that was shown', () => {
  it('approves nothing, also if the change has no flags', async () => {
    await home.addHeldRun(HELD);
    await expect(home.operations.approve({ runId: HELD, story: 'US-001', ...seen })).rejects.toMatchObject({
      code: 'UNCONFIRMED',
    });
    const { state } = await home.operations.getRun({ runId: HELD });
    expect(state.stories[0]).toMatchObject({ held: expect.anything() as object });
  });

  it('lands nothing, and approves no result', async () => {
    const repository = await home.addLandedRun(LANDED);
    const before = repository.git('rev-parse', 'main');
    for (const decide of [home.operations.land, home.operations.approve])
      await expect(decide({ runId: LANDED, ...seen })).rejects.toMatchObject({ code: 'UNCONFIRMED' });
    expect(repository.git('rev-parse', 'main')).toBe(before);
  });
});
