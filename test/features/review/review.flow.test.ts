import { describe, expect } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { reviewRun } from '../../../src/core/review/review.ts';
import { reviewText } from '../../../src/cli/output/review-text.ts';
import { storyFacts } from '../../../src/view/facts.ts';
import { it as base } from '../../support/fixtures.ts';
import { reviewWith, runReviewed, type ReviewedStories } from '../../support/halo/reviewed.ts';

const BUG = { path: 'a.txt', line: 1, severity: 'blocking', criterion: 1, text: 'It says one, not two.' };
const NOTE = { path: 'a.txt', line: 1, severity: 'note', criterion: null, text: 'A clearer name would help.' };

const STORIES: ReviewedStories = {
  // Objects to `one`, and agrees to `two` with a note.
  returned: [
    `if grep -q one a.txt; then ${reviewWith([BUG], [{ n: 1, met: 'no' }])}\nelse ${reviewWith([NOTE])}\nfi`,
    `if grep -q 'It says one' /tmp/prompt; then cp /tmp/prompt seen.txt; echo two > a.txt; else echo one > a.txt; fi`,
  ],
  silent: ['kill -KILL $$', 'echo one > a.txt'],
  // It reports what it sees, and whether it can write.
  sealed: [
    `SEEN="$(git log -1 --format=%B; touch b.txt 2>&1; ls)"; ${reviewWith([{ ...NOTE, text: 'SEEN' }]).replace('cat <<', 'cat > /tmp/answer <<')}sed "s/SEEN/$(echo "$SEEN" | tr '\\n/' '; ')/" /tmp/answer`,
    `echo one > a.txt; echo '{"status":"ok","summary":"WORDS OF THE AUTHOR."}'; exit 0`,
  ],
};

const it = base.extend('run', { scope: 'file' }, ({ halo }) => runReviewed(halo, STORIES));

const storyOf = ({ stories }: RunState, id: string) => stories.find((story) => story.id === id)!;
const eventsOf = <T extends JournalEvent['type']>(events: readonly JournalEvent[], type: T, id: string) =>
  events.filter(
    (event): event is JournalEvent & { type: T } => event.type === type && 'story' in event && event.story === id,
  );

describe('a change that another agent reviews', () => {
  it('is sent back once, continues with its work, and lands when the reviewer agrees', ({ halo, run }) => {
    const { repository, state, events } = run;
    const { attempts, progress, commit = '', reviewed, key } = storyOf(state, 'returned');
    expect([progress, attempts]).toEqual(['passed', 2]);
    expect(repository.git('show', `${commit}:a.txt`)).toBe('two');
    const seen = repository.git('show', `${commit}:seen.txt`);
    expect(seen).toContain('Another agent reviewed the change and wants it changed.');
    expect(seen).toContain(
      'the reviewer command commented on `a.txt`, line 1:\n```\nIt says one, not two. (criterion 1)',
    );
    expect(seen).toContain('You continue the work of attempt 1.');
    expect(
      eventsOf(events, 'review.ended', 'returned').map(({ findings }) => findings.map(({ severity }) => severity)),
    ).toEqual([['blocking'], ['note']]);
    expect(reviewed).toMatchObject({ agent: 'command', findings: [{ path: 'a.txt', line: 1, text: NOTE.text }] });
    const proof = JSON.parse(halo.readFile(state.runId, `artifacts/${key}/2/proof.json`)) as { review: unknown };
    expect(proof.review).toEqual({
      agent: 'command',
      findings: [{ path: 'a.txt', line: 1, severity: 'note', text: NOTE.text }],
      criteria: [{ n: 1, met: 'yes' }],
    });
  });

  it('has findings and criteria for the person who reads it', ({ run }) => {
    const review = reviewRun(run.events)!.stories.find(({ id }) => id === 'returned')!;
    expect(review.criteria).toMatchObject([{ n: 1, judged: 'yes' }]);
    const facts = storyFacts(storyOf(run.state, 'returned'));
    expect(facts).toContainEqual(expect.objectContaining({ value: 'command reviewed it: 1 note' }));
    const shown = reviewText(
      { review, facts, files: undefined, doubts: [], words: '' },
      { paint: (_, text) => text, width: 200 },
    );
    expect(shown).toContainEqual(expect.stringContaining('no test named · met, by the word of the reviewer'));
    expect(shown).toContainEqual(expect.stringContaining('note: a.txt:1: A clearer name would help.'));
  });

  it('waits for a person if its reviewer is killed (hazard 80)', ({ run }) => {
    const story = storyOf(run.state, 'silent');
    expect(story).toMatchObject({ progress: 'needs_human', attempts: 1 });
    expect(story.summary).toContain('no valid review: OUT_OF_MEMORY');
    expect(story.held).toBeDefined();
  });

  it('is read-only for its reviewer, who gets criteria and diff, and no word of its author', ({ halo, run }) => {
    const { state } = run;
    const { key, progress, reviewed } = storyOf(state, 'sealed');
    expect(progress).toBe('passed');
    expect(halo.readFile(state.runId, `artifacts/${key}/1/result.json`)).toContain('WORDS OF THE AUTHOR');
    const prompt = halo.readFile(state.runId, `artifacts/${key}/1/review/prompt.md`);
    expect(prompt).toContain('1. It works.');
    expect(prompt).toContain('+one');
    expect(prompt).not.toContain('WORDS OF THE AUTHOR');
    const [{ text = '' } = {}] = reviewed?.findings ?? [];
    expect(text).toMatch(/^The change to review.*touch: .*Read-only file system;README.md;a.txt;/);
  });
});
