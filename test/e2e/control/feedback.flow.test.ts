import { describe, expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';

/** Writes a line per attempt; after feedback it keeps the prompt's part about it. */
const WORKS = `cat > /tmp/prompt; echo "line $(wc -l < work.txt 2>/dev/null || echo 0)" >> work.txt
if grep -q '^## Feedback' /tmp/prompt; then sed -n '/^## Feedback/,/^## Rules/p' /tmp/prompt > feedback.txt; git log --format=%s -1 > last.txt; fi; ${OK}`;

describe('feedback on a commit', () => {
  it('starts the story again with its change applied, before and after the commit has landed', async ({
    halo,
    repository,
  }) => {
    const { operations } = halo;
    const settings = scripted(WORKS, ['true'], ['approval.mode=story']);
    const held = await halo.run(repository.root, [{ id: 'A' }], settings);
    const { runId } = held;
    expect(held).toMatchObject({ stopReason: 'NEEDS_HUMAN' });
    const first = held.stories[0]!.held!.commit;
    await operations.actingAs('ann@desk').reject({
      runId,
      story: 'A',
      feedback: 'One line is not enough.',
      comments: [{ path: 'work.txt', side: 'new', line: 1, text: 'Say more than this.' }],
    });
    const second = await halo.untilEnd(runId);
    expect(second).toMatchObject({ stopReason: 'NEEDS_HUMAN', stories: [{ attempts: 2, held: {} }] });
    const { held: next, key } = second.stories[0]!;
    const prompt = halo.readFile(runId, `artifacts/${key}/2/prompt.md`);
    expect(prompt).toContain('You continue the work of attempt 1.');
    expect(prompt).toContain('ann@desk wrote about attempt 1:\n```\nOne line is not enough.\n```\n');
    expect(prompt).toContain('Lines of `work.txt`, line 1, at attempt 1:\n```\nline 0\n```\nann@desk commented on');
    // The diff of the attempt that was sent back stays, and so does its attempt.
    expect(halo.readFile(runId, `artifacts/${key}/1/diff.patch`)).toContain('+line 0');
    expect((await operations.readDiff({ runId, story: 'A' })).toString()).toContain('+line 0\n+line 1');
    expect(next!.commit).not.toBe(first);

    await operations.approve({ runId, story: 'A' });
    const landed = await halo.untilEnd(runId);
    expect(landed).toMatchObject({ stopReason: 'SUCCESS', tip: next!.commit });
    const bob = operations.actingAs('bob@desk');
    await bob.reject({ runId, story: 'A', feedback: 'A third line.', comments: undefined });
    const third = await halo.untilEnd(runId);
    expect(third).toMatchObject({ stopReason: 'NEEDS_HUMAN', stories: [{ attempts: 3, commit: next!.commit }] });
    await operations.approve({ runId, story: 'A' });
    const done = await halo.untilEnd(runId);
    expect(done).toMatchObject({ stopReason: 'SUCCESS', stories: [{ progress: 'passed', attempts: 3 }] });
    expect(repository.git('show', `halo/${runId}:work.txt`)).toBe('line 0\nline 1\nline 2');
    expect(repository.git('rev-parse', `halo/${runId}~1`)).toBe(next!.commit);
    expect(repository.git('show', `halo/${runId}:feedback.txt`)).toContain('is part of the project already');
  });
});
