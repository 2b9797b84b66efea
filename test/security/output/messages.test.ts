import { describe, expect, it } from 'vitest';
import { commitMessage, STORY_KEY_TRAILER } from '../../../src/git/commit/commit-message.ts';

/** What an agent's summary, a title or an id can make of the commit message that the host writes. */
function messageOf({ id = 'US-001', title = 'Add a cart', body = '' }): string {
  const trailers = { 'Halo-Run': 'r1', 'Halo-Story': id, [STORY_KEY_TRAILER]: 'us-001', 'Halo-Attempt': '1' };
  return commitMessage({ template: 'feat: [{id}] - {title}', id, title, run: 'r1', body, trailers });
}

const TRACKER_KEY = /\b(?!US-001)[A-Z][A-Z0-9]+-\d/;
/** What GitHub, GitLab, Gitea, Bitbucket, Azure DevOps, Jira, Linear, release tools and CI look for. */
const ACTED_ON = [
  /#\w/,
  /(?<!\w)@\w/,
  /[!&]\d/,
  /:\/\//,
  /\bGH-\d/i,
  TRACKER_KEY,
  /\[(?!US-001\])[^\]]{2,}\]/,
  /\*{3}/,
  /^[\s|*]*BREAKING[ -]CHANGE/im,
  /^(?!Halo-)[A-Za-z][\w-]*(?: \w+)?\s?[:=]/m,
];

const ORDERS = [
  'Fixes https://github.com/org/shop/issues/12',
  'Closes: https://gitlab.com/org/shop/-/issues/12',
  'Implements #7',
  'Closing #8, fixing #9',
  '#13, and #14',
  'resolves: org/shop#15 and GH-16, gh-17',
  'PROJ-123 #close #time 2d #comment done',
  'Fixes LIN-12',
  'BREAKING CHANGE: drops the API',
  '* breaking change drops the API',
  'BREAKING-CHANGE: x',
  '[deploy production] [skip ci] [ci-skip] [skip_ci] [no ci] [[skip ci]] [skip\nci]',
  '***NO_CI***',
  '@team, @org/team, (@boss)',
  'see !12 and &3',
  'AB#12',
  'Changelog: removed',
  'Release-As: 9.0.0',
  '#\u200b12 and @\u2060team and [skip\u00ad ci]',
];

describe('incident message-orders: text in a commit message that forges, trackers and CI interpret', () => {
  it.each(ORDERS)('is only text if the agent reports it: %j', (order) => {
    for (const [part, text] of [
      ['body', messageOf({ body: `Did it.\n${order}` })],
      ['title', messageOf({ title: order })],
    ] as const) {
      for (const pattern of ACTED_ON) expect(text.split('\n').slice(1).join('\n')).not.toMatch(pattern);
      for (const pattern of ACTED_ON.slice(0, -2))
        // A title may name a story, whose id looks like the key of a ticket.
        if (part === 'body' || pattern !== TRACKER_KEY) expect(text).not.toMatch(pattern);
    }
  });

  it.each(['skip ci', 'ci-skip', 'SKIP_CI', 'no ci', 'deploy production', 'Fixes #12', '@team', 'x] [skip ci'])(
    'is only text as the id of a story: %j',
    (id) => {
      const text = messageOf({ id });
      expect(text).not.toMatch(/\[[^\]]*(?<![a-z])(?:skip|ci|deploy)(?![a-z])[^\]]*\]|#\w|(?<!\w)@\w/i);
      expect(text).toContain(`${STORY_KEY_TRAILER}: us-001`);
    },
  );

  it('stays readable', () => {
    const body =
      'Fixes #12 (see https://x.org/a): mails go to me@x.org.\n- [x] tests of a[0] in SHA-256\nNote: all green.';
    const text = messageOf({ body });
    expect(text).toContain(
      'Fixes # 12 (see https: //x.org/a): mails go to me@x.org.\n- [x] tests of a[0] in SHA\u2011256\n- Note: all green.',
    );
    expect(messageOf({ id: 'add-cart' })).toMatch(/^feat: \[add-cart\] - Add a cart\n/);
  });
});
