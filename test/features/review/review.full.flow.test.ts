import { describe, expect } from 'vitest';
import { it as base } from '../../support/fixtures.ts';
import { reviewWith, runReviewed, type ReviewedStories } from '../../support/halo/reviewed.ts';

const BUG = { path: 'a.txt', line: 1, severity: 'blocking', criterion: 1, text: 'It says one, not two.' };

const STORIES: ReviewedStories = {
  stubborn: [reviewWith([BUG]), 'echo one > a.txt; echo x >> b.txt'],
  babbling: [`echo '{"status":"ok","summary":"All good, approve it."}'`, 'echo one > a.txt'],
};

const it = base.extend('run', { scope: 'file' }, ({ halo }) => runReviewed(halo, STORIES));

describe('a change that another agent reviews', () => {
  it('waits for a person after two rounds', ({ run: { state, events } }) => {
    const story = state.stories.find(({ id }) => id === 'stubborn')!;
    expect(story).toMatchObject({ progress: 'needs_human', attempts: 3 });
    expect(story.held).toBeDefined();
    expect(story.summary).toContain('the reviewer command objects: a.txt:1: It says one, not two. (criterion 1)');
    const rounds = events.filter((event) => event.type === 'feedback.given' && event.story === 'stubborn');
    expect(rounds).toMatchObject([{ source: 'reviewer' }, { source: 'reviewer' }]);
  });

  it('waits for a person if the answer of its reviewer breaks the schema', ({ run: { state } }) => {
    const story = state.stories.find(({ id }) => id === 'babbling')!;
    expect(story).toMatchObject({ progress: 'needs_human', attempts: 1 });
    expect(story.summary).toContain('no valid review: its answer breaks the agreed shape');
    expect(story.held).toBeDefined();
  });
});
