import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { orderBatch } from '../../../src/core/run/batch.ts';
import { storyKey } from '../../../src/core/run/story-key.ts';
import { commitMessage, STORY_KEY_TRAILER } from '../../../src/git/commit/commit-message.ts';
import { findLandedCommit } from '../../../src/git/land/land-commit.ts';
import { taskName } from '../../../src/features/lever/api/run-folder.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { prdOf } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** Two stories that are made to be taken for one another: the second would count as done without any work. */

function parse(...ids: string[]) {
  const { path, bytes } = prdOf(ids.map((id) => ({ id })));
  return parsePrd(bytes, path);
}

/** Their slugs are the same, and the first 32 bits of their digests. */
const COLLIDING = ['AdD a cart TO tHE Checkout', 'aDd A cart To The chECkout'] as const;

describe('incident twin-ids: ids that users or trailers cannot distinguish', () => {
  it.each(['US-001\u200b', 'US\u202e-001', 'US-\u00ad001', 'US-001\u3164', 'US-\u0007001', '\u{e0041}US-001'])(
    'are refused with the position of an invisible character: %j',
    (id) => {
      expect(() => parse('US-002', id)).toThrow(
        /prd\.json:\d+: userStories\[1\]\.id: contains a control or hidden character \(<U\+[0-9A-F]{4,5}>\)/,
      );
    },
  );

  it.each([
    ['US 1', 'US  1', `"US <U+0020>1" looks like the id "US 1" of userStories[0]`],
    ['US 1', 'US\u00a01', `"US<U+00A0>1" looks like the id "US 1" of userStories[0]`],
    ['\u00e4', 'a\u0308', `"a<U+0308>" looks like the id "<U+00E4>" of userStories[0]`],
    ['US-1', 'US\u20111', 'looks like'],
    ['US-1', 'US-\uff11', 'looks like'],
    ['API', '\u0410PI', 'looks like'],
    ['\u2714', '\u2714\ufe0f', 'looks like'],
  ])('are refused if they only look alike: %j and %j', (one, other, rule) => {
    expect(() => parse(one, other)).toThrow(rule);
    expect(parse(one).stories).toHaveLength(1);
    const members = [one, other].map((name) => ({ name, deps: [], priority: 0 }));
    expect(() => orderBatch(members)).toThrow(/look alike/);
  });

  it('compares the ids of dependencies letter by letter', () => {
    const { path, bytes } = prdOf([{ id: 'US-1' }, { id: 'US-2', dependsOn: ['US-1\u200b'] }]);
    expect(() => parsePrd(bytes, path)).toThrow(String.raw`"US-2" depends on "US-1\u200b", which is not in this file`);
  });

  it('do not include ids that users can distinguish', () => {
    const ids = ['US-001', 'us-001', 'US-01', 'größe', '漢字', 'मुख्य', '✔\ufe0f fertig', ...COLLIDING];
    expect(parse(...ids).stories.map(({ id }) => id)).toEqual(ids);
  });
});

describe('incident key-collision: stories with the same key would share results, refs and commits', () => {
  it('have separate keys, also if another id equals the key of one', () => {
    const ids = [...COLLIDING, ...COLLIDING.map(storyKey), 'us-001', 'US-001'];
    expect(new Set(parse(...ids).stories.map(({ storyKey }) => storyKey)).size).toBe(ids.length);
    expect(new Set(ids.map(taskName)).size).toBe(ids.length);
  });

  it('are found on the branch of their run by their keys, and never by a commit of another story', async () => {
    const repository = newRepository();
    const base = repository.git('rev-parse', 'HEAD');
    const land = (id: string) => {
      const trailers = { 'Halo-Run': 'r1', 'Halo-Story': id, [STORY_KEY_TRAILER]: storyKey(id) };
      const message = commitMessage({ template: '{id}', id, title: '', run: 'r1', body: '', trailers });
      repository.write(`${Math.random()}`, '');
      return repository.commit(message);
    };
    const find = (id: string, others: { id: string; key: string; commit?: string }[] = []) =>
      findLandedCommit({
        ...{ hostGitDir: join(repository.root, '.git'), ref: 'refs/heads/main', base, runId: 'r1' },
        story: { id, key: storyKey(id) },
        others,
      });
    const one = land('US-001');
    const other = land(COLLIDING[0]);
    expect(await find('US-001')).toBe(one);
    expect(await find(COLLIDING[0])).toBe(other);
    expect(await find(COLLIDING[1])).toBeUndefined();
    expect(await find('US-001\u200b')).toBeUndefined();
    expect(await find('US-001', [{ id: 'B', key: 'b', commit: one }])).toBeUndefined();
  });
});
