import { describe, expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';

/** Asks until the prompt has an answer, and writes the prompt's part about it into the repository. */
const ASKS = `cat > /tmp/prompt; if grep -q 'ann@desk answered:' /tmp/prompt; then
  grep -A4 'asked:' /tmp/prompt > answer.txt; ${OK}
else echo half > half.txt; echo '{"status":"needs_human","summary":"Which port?"}'; fi`;

describe('an answer to a question', () => {
  it('starts the story again with the answer in its prompt, also after the end of the run', async ({
    halo,
    repository,
  }) => {
    const { operations } = halo;
    const asks = await halo.run(repository.root, [{ id: 'A' }, { id: 'B' }], scripted(ASKS));
    expect(asks).toMatchObject({ stopReason: 'NEEDS_HUMAN', detail: 'A: Which port?' });
    const { runId } = asks;
    await operations.actingAs('ann@desk').answer({ runId, story: 'A', text: 'Use 8080.\nNot 80.' });
    await expect(operations.actingAs('bob@desk').answer({ runId, story: 'A', text: 'Use 80.' })).rejects.toMatchObject({
      code: 'CONTROL_REFUSED',
      message: expect.stringMatching(/answered by ann@desk at \S+\.$/) as string,
    });
    const next = await halo.untilEnd(runId);
    expect(next).toMatchObject({
      stopReason: 'NEEDS_HUMAN',
      detail: 'B: Which port?',
      stories: [{ progress: 'passed', attempts: 2 }, { progress: 'needs_human' }],
    });
    const fenced = (text: string) => `\`\`\`\n${text}\n\`\`\`\n`;
    expect(repository.git('show', `halo/${runId}:answer.txt`)).toContain(fenced('Which port?') + 'ann@desk answered:');
    expect(halo.readFile(runId, `artifacts/${next.stories[0]!.key}/2/prompt.md`)).toContain(
      `ann@desk answered:\n${fenced('Use 8080.\nNot 80.')}`,
    );
    // The next attempt starts with what the first one left.
    expect(repository.git('show', `halo/${runId}:half.txt`)).toBe('half');
    const prompt = halo.readFile(runId, `artifacts/${next.stories[0]!.key}/2/prompt.md`);
    expect(prompt).toContain('You continue the work of attempt 1.');
    expect(prompt).not.toContain('The changes of these attempts were dropped');
    expect(halo.readFile(runId, `artifacts/${next.stories[0]!.key}/1/diff.patch`)).toContain('+half');
    expect(halo.readFile(runId, 'agent.log')).toContain('ANSWERED  by ann@desk: Use 8080. Not 80.');
  });
});
