import { describe, expect, it } from 'vitest';
import { validatePrd } from '../../../src/api/repository/prd-rules.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';

/** PRDs within all limits of size, lines, values and stories, which a server reads in the thread that answers all requests. */

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
const stories = (count: number, more: (index: number) => object = () => ({})) =>
  numbers(count).map((index) => ({ id: `S-${index}`, title: `T${index}`, ...more(index) }));

const SECTIONS = numbers(LEVEL >= FULL ? 10_000 : 5_000).map((index) => `## Section ${index}\ntext ${index}`);
const BOXES = numbers(2_500).map((index) => `- [ ] do ${index}`);

/** Each would take from ten seconds to minutes if the time grew with the square of something in it. */
const PRDS: [what: string, text: string, outcome: RegExp | number][] = [
  [
    'a section with text for each of thousands of stories',
    ['# P', ...numbers(2_500).map((index) => `## S${index}\n${'text\n'.repeat(15)}- [ ] do ${index}`)].join('\n'),
    2_500,
  ],
  [
    'thousands of problems below millions of empty lines',
    `{"userStories": [${'\n'.repeat(1_750_000)}${stories(5_000, () => ({ dependsOn: ['X'] }))
      .map((story) => JSON.stringify(story))
      .join(',')}]}`,
    /^prd.json:1750001: /,
  ],
  [
    'a long chain of dependencies',
    JSON.stringify({ userStories: stories(5_000, (at) => ({ dependsOn: at === 0 ? [] : [`S-${at - 1}`] })) }),
    5_000,
  ],
  [
    'more stories than are allowed',
    JSON.stringify({ userStories: stories(20_000) }),
    /20000 stories; the limit is 5000/,
  ],
  [
    'thousands of groups',
    numbers(2_500)
      .map((index) => `- [ ] ${index + 1}. group ${index}\n- [ ] ${index + 1}.1 story`)
      .join('\n'),
    2_500,
  ],
];

describe('incident slow-text, incident user-limits: a PRD is read in time that grows with its size', () => {
  it.each(PRDS)('with %s', (_what, text, outcome) => {
    const read = () => validatePrd({ path: 'prd.json', bytes: Buffer.from(text) }, {}).stories.length;
    if (typeof outcome === 'number') expect(read()).toBe(outcome);
    else expect(read).toThrow(outcome);
  });

  it('with thousands of texts for thousands of stories, some of which are not compared with the limits of a prompt', () => {
    const text = ['# P', ...SECTIONS, ...BOXES].join('\n');
    const { stories, warnings } = validatePrd({ path: 'prd.md', bytes: Buffer.from(text) }, {});
    expect(stories).toHaveLength(2_500);
    expect(warnings.some((each) => /^\d+ stories were not compared with the limits of a prompt/.test(each))).toBe(true);
  });
});
