import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { assertConfirmed, confirmationOfAll, FLAGS, flagsOf, type Flag } from '../../../src/core/review/flags.ts';
import { COMMIT, created, held, stateOf } from '../../support/journal.ts';

const REF = { story: 'US-001', attempt: 1 };
const EVENTS: Record<Flag, JournalEntry | undefined> = {
  secret: { type: 'secrets.suspected', ...REF, suspects: [{ path: 'k.txt', names: ['a GitHub token'] }] },
  hidden: { type: 'hidden.added', ...REF, hidden: { characters: 1, lines: 1, files: 1, places: ['a.js:1'] } },
  tests: { type: 'tests.compared', ...REF, before: 4, after: 3, removed: ['adds'], skipped: [], emptied: [] },
  // The paths of a commit that is held.
  protected: undefined,
  binary: { type: 'files.noted', ...REF, large: [], locks: [], binary: ['logo.png'] },
};

/** A run whose commit is held, with events of its attempt. */
function heldWith(flags: readonly Flag[]) {
  const [started, ...ended] = held('US-001');
  return stateOf(
    created('r1', 1),
    { type: 'run.started' },
    started!,
    ...flags.flatMap((each) => EVENTS[each] ?? []),
    ...ended,
  );
}

describe('what halo flags', () => {
  it.each(FLAGS)('%s is found in the commit that waits for approval, and after its approval', (flag) => {
    const { stories } = heldWith([flag]);
    expect(flagsOf(stories)).toContain(flag);
    const approved = stateOf(
      ...[created('r1', 1), { type: 'run.started' } as const, ...held('US-001').slice(0, 1)],
      ...(EVENTS[flag] === undefined ? [] : [EVENTS[flag]]),
      ...held('US-001').slice(1),
      { type: 'story.approved', ...REF, commit: COMMIT, by: 'ann' },
    );
    expect(approved.stories[0]).toMatchObject({ progress: 'passed' });
    expect(flagsOf(approved.stories)).toEqual(flagsOf(stories));
  });

  it('is confirmed all together, for the commit that was shown', () => {
    const { stories } = heldWith(['secret']);
    const decide = (confirm: Flag[], commit?: string) => () =>
      assertConfirmed(
        { verb: 'approve', runId: 'r1', changes: stories, commit: COMMIT, story: 'US-001' },
        { confirm, commit },
      );
    expect(decide(['secret', 'protected'])).not.toThrow();
    expect(decide(['secret', 'protected'], COMMIT)).not.toThrow();
    const refused = expect.objectContaining({
      code: 'UNCONFIRMED',
      exitCode: 6,
      hint: expect.stringContaining('halo approve r1 --story US-001 --confirm secret,protected') as string,
    }) as Error;
    for (const given of [decide([]), decide(['secret']), decide(['protected', 'hidden', 'tests', 'binary'])])
      expect(given).toThrow(refused);
    expect(decide(['secret', 'protected'], 'f'.repeat(40))).toThrow(
      ', which is at abcdef0 now and not at fffffff, has to be confirmed',
    );
  });

  it('is asked for again only about the commit that was shown', () => {
    const found = [
      { run: 'r2', flag: 'binary', text: 'US-002: logo.png' },
      { run: 'r1', flag: 'secret', text: 'US-001: k.txt' },
      { run: 'r2', flag: 'secret', text: 'US-002: k.txt' },
    ];
    expect(confirmationOfAll({ commit: COMMIT, confirm: ['tests'] }, { commit: COMMIT, found })).toEqual({
      commit: COMMIT,
      confirm: ['secret', 'binary'],
    });
    for (const shown of [{ commit: 'f'.repeat(40) }, { confirm: ['secret' as const, 'binary' as const] }, {}])
      for (const each of [found, []]) expect(confirmationOfAll(shown, { commit: COMMIT, found: each })).toBeUndefined();
  });

  it('is nothing in a plain change', () => {
    const { stories } = stateOf(created('r1', 1));
    const land = (commit?: string) => () =>
      assertConfirmed({ verb: 'land', runId: 'r1', changes: stories, commit: COMMIT }, { commit });
    for (const seen of [undefined, COMMIT]) expect(land(seen)).not.toThrow();
    expect(land('f'.repeat(40))).toThrow(
      'The change of run r1, which is at abcdef0 now and not at fffffff, has to be confirmed.',
    );
    const both = {
      verb: 'land',
      runId: 'r2',
      changes: stories,
      commit: COMMIT,
      continued: [{ runId: 'r1', changes: [] }],
    } as const;
    expect(() => assertConfirmed(both, { commit: 'f'.repeat(40) })).toThrow(
      'The change of run r2, which is at abcdef0 now and not at fffffff and which continues r1, has to be confirmed.',
    );
  });
});
