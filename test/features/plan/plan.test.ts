import { describe, expect, it } from 'vitest';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { readPlanned, type PlannedStory } from '../../../src/features/plan/prd/read-planned.ts';
import { assertUpdatable, updatePlan, writePlan } from '../../../src/features/plan/prd/update-plan.ts';
import { toHaloError } from '../../../src/core/failure/errors.ts';

function planned(id: string, more: Partial<PlannedStory> = {}): PlannedStory {
  return { id, title: `Title of ${id}`, description: '', acceptance: ['It works.'], dependsOn: [], ...more };
}

const planOf = (...stories: PlannedStory[]) => readPlanned({ status: 'ok', summary: '', project: 'Shop', stories });
const read = (text: string) => parsePrd(Buffer.from(text), 'plan').stories;
const messageOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    const { code, message } = toHaloError(error);
    return `${code}: ${message}`;
  }
  return 'nothing was thrown';
};

const headings = (mark: string) =>
  ['US-001: Cart', 'US-002: Total']
    .map((title) => `### ${title}\n\n**Acceptance Criteria:**\n\n- [${mark}] It works.\n`)
    .join('\n');

const JSON_PLAN = `{
  "project": "Shop",   "custom": [1,2],
  "userStories": [
    { "id": "US-001", "title": "Cart",   "acceptanceCriteria": ["a"], "priority": 1, "passes": true, "by": "me" },
    { "id": "US-002", "title": "Total",  "acceptanceCriteria": ["b"], "priority": 2, "passes": false, "notes": "keep" },
    { "id": "US-003", "title": "Coupon", "acceptanceCriteria": ["c"], "priority": 3, "passes": false }
  ]
}
`;

const MARKDOWN_PLAN = `# Shop

What it is.

## Tasks

- [x] US-001: Cart

  With *text*.
  - a
- [ ] US-002: Total
  - b
- [ ] US-003: Coupon
  - c

## Notes

The end.
`;

describe('a new plan', () => {
  it.each(['json', 'markdown'] as const)('has the stories of the agent in their order, as %s', (format) => {
    const plan = planOf(
      planned('US-001', { description: 'First.\n\nThen second.', acceptance: ['One.', 'Two.'] }),
      planned('US-002', { dependsOn: ['US-001'] }),
    );
    expect(read(writePlan(plan, format, 'plan').text)).toMatchObject([
      { id: 'US-001', title: 'Title of US-001', status: 'pending', acceptance: ['One.', 'Two.'], dependsOn: [] },
      { id: 'US-002', status: 'pending', dependsOn: ['US-001'] },
    ]);
  });

  it('is refused if a story depends on one that does not exist', () => {
    const plan = planOf(planned('A', { dependsOn: ['B'] }));
    expect(messageOf(() => writePlan(plan, 'json', 'prd.json'))).toBe(
      "PRD_INVALID: The agent's plan cannot be written to prd.json: A depends on B, which is not a story of the plan.",
    );
  });
});

describe('an updated plan', () => {
  const update = planOf(
    planned('US-002', { title: 'The total', acceptance: ['b', 'b2'], dependsOn: ['US-001'] }),
    planned('US-004', { dependsOn: ['US-002'] }),
  );
  const kept = { kept: ['US-001'], changed: ['US-002'], removed: ['US-003'], added: ['US-004'], ignored: [] };

  it('keeps done stories and all other text of a JSON file byte for byte', () => {
    const { text, ...facts } = updatePlan(Buffer.from(JSON_PLAN), update, 'prd.json');
    expect(facts).toEqual(kept);
    const lines = JSON_PLAN.split('\n');
    for (const line of [lines[1]!, lines[3]!]) expect(text).toContain(line);
    expect(read(text)).toMatchObject([
      { id: 'US-001', status: 'done', extra: { by: 'me' } },
      { id: 'US-002', title: 'The total', notes: 'keep', priority: 2, dependsOn: ['US-001'] },
      { id: 'US-004', status: 'pending', priority: 4 },
    ]);
  });

  it('keeps done stories and all other text of a Markdown file byte for byte', () => {
    const { text, ...facts } = updatePlan(Buffer.from(MARKDOWN_PLAN), update, 'PLAN.md');
    expect(facts).toEqual(kept);
    expect(text).toContain(MARKDOWN_PLAN.slice(0, MARKDOWN_PLAN.indexOf('- [ ] US-002')));
    expect(text).toMatch(/\n\n## Notes\n\nThe end\.\n$/);
    expect(read(text)).toMatchObject([
      { id: 'US-001', status: 'done' },
      { id: 'US-002', title: 'The total', acceptance: ['b', 'b2'] },
      { id: 'US-004', status: 'pending', dependsOn: ['US-002'] },
    ]);
  });

  const BULLETS = `# Implementation Plan

## High Priority

- [#7] Set up the project [DONE]
  - *anything*
- [#42] Add the cart
  - It adds up
- [#43] Check out

## Completed

- [#9] [COMPLETE] Choose a license

Notes:

- see the wiki
`;

  it('keeps done bullets and all other text of a plan of hank byte for byte', () => {
    const plan = planOf(
      planned('#42', { title: 'Add a cart', acceptance: ['It adds up'], dependsOn: ['#7'] }),
      planned('US-001', { title: 'Pay', dependsOn: ['#42'] }),
    );
    const { text, ...facts } = updatePlan(Buffer.from(BULLETS), plan, 'PLAN.md');
    // The agent left out an open issue, which only its tracker can close.
    expect(facts).toEqual({ kept: ['#7', '#9', '#43'], changed: ['#42'], removed: [], added: ['US-001'], ignored: [] });
    const open = BULLETS.slice(BULLETS.indexOf('- [#42]'), BULLETS.indexOf('\n## Completed'));
    const changed = '- [#42] Add a cart\n  - It adds up\n  - Depends on: #7\n- [#43] Check out\n';
    const added = '- [US-001] Pay\n  - It works.\n  - Depends on: #42\n';
    expect(text).toBe(BULLETS.replace(open, `${changed}${added}`));
    expect(read(text)).toMatchObject([
      { id: '#7', status: 'done' },
      { id: '#42', status: 'pending', dependsOn: ['#7'] },
      { id: '#43', status: 'pending' },
      { id: 'US-001', status: 'pending', dependsOn: ['#42'] },
      { id: '#9', status: 'done' },
    ]);
  });

  it('adds to a plan of hank in which everything is done, and keeps checkboxes that name issues', () => {
    const done = '- [#7] Set up [DONE]\n';
    expect(updatePlan(Buffer.from(done), planOf(planned('#8')), 'p').text).toBe(
      `${done}- [#8] Title of #8\n  - It works.\n`,
    );
    const boxes = '- [x] [#1] One\n- [ ] [#2] Two\n';
    expect(updatePlan(Buffer.from(boxes), planOf(planned('#2', { title: 'Two' })), 'p').text).toBe(
      '- [x] [#1] One\n- [ ] [#2] Two\n  - It works.\n',
    );
  });

  it('is refused if a text of the agent would make a bullet of hank done', () => {
    const plan = planOf(planned('#42', { title: 'Add the cart [DONE]' }));
    expect(messageOf(() => updatePlan(Buffer.from(BULLETS), plan, 'PLAN.md'))).toMatch(/^PRD_INVALID: .* #42 would be/);
  });

  it('is refused if a criterion of the agent would be read as a dependency', () => {
    const plan = planOf(planned('US-004', { acceptance: ['It works.', 'Depends on: US-001'] }));
    expect(messageOf(() => updatePlan(Buffer.from(MARKDOWN_PLAN), plan, 'PLAN.md'))).toMatch(
      / US-004 would be read as/,
    );
  });

  it('is refused if a done story would get the id of another one', () => {
    const [one, two, open] = ['One', 'Two', 'Three'].map((title) => ({ id: 'A', title, passes: title !== 'Three' }));
    const text = JSON.stringify({ userStories: [one, two, open] });
    expect(messageOf(() => updatePlan(Buffer.from(text), planOf(planned('B')), 'p'))).toMatch(/ would change A~2\.$/);
  });

  it('is refused if a story of the agent would be read as a done one without an id', () => {
    const list = '- [ ] Total\n  - b\n- [x] Cart\n  - It works.\n';
    const plan = planOf(planned('x', { title: 'Total', acceptance: ['b'] }), planned('y', { title: 'Cart <!-- -->' }));
    expect(messageOf(() => updatePlan(Buffer.from(list), plan, 'p'))).toMatch(/ would change cart\.$/);
  });

  it('finds stories of a list without ids by their titles', () => {
    const plain = '# Plan\n\n- [x] Cart\n- [ ] Total\n  - b\n';
    const plan = planOf(planned('x', { title: 'Total', acceptance: ['b', 'c'] }), planned('y', { title: 'Pay' }));
    const { text } = updatePlan(Buffer.from(plain), plan, 'PLAN.md');
    expect(text).toBe('# Plan\n\n- [x] Cart\n- [ ] Total\n  - b\n  - c\n- [ ] Pay\n  - It works.\n');
  });

  it('is the same text if the agent changes nothing', () => {
    const same = planOf(
      planned('US-002', { title: 'Total', acceptance: ['b'] }),
      planned('US-003', { title: 'Coupon', acceptance: ['c'] }),
    );
    expect(updatePlan(Buffer.from(JSON_PLAN), same, 'prd.json').text).toBe(JSON_PLAN);
    expect(updatePlan(Buffer.from(MARKDOWN_PLAN), same, 'PLAN.md').text).toBe(MARKDOWN_PLAN);
    const unended = MARKDOWN_PLAN.slice(0, MARKDOWN_PLAN.indexOf('\n\n## Notes'));
    expect(updatePlan(Buffer.from(unended), same, 'PLAN.md').text).toBe(unended);
  });

  it('never gives the id of a done story to another one', () => {
    const again = planOf(planned('us-001', { title: 'Something else' }), planned('US-004'));
    const { text, ignored, added } = updatePlan(Buffer.from(JSON_PLAN), again, 'prd.json');
    expect({ ignored, added }).toEqual({ ignored: ['us-001'], added: ['US-004'] });
    expect(text).not.toContain('Something else');
  });

  it('keeps a byte order mark, and a list on one line on one line', () => {
    const line = '\uFEFF{"userStories": [{"id": "A", "title": "One", "passes": true}, {"id": "B", "title": "Two"}]}';
    const { text } = updatePlan(Buffer.from(line), planOf(planned('C')), 'prd.json');
    expect(text.startsWith('\uFEFF{"userStories": [{"id": "A", "title": "One", "passes": true}, {"id":"C"')).toBe(true);
    expect(text).not.toContain('\n');
  });

  it.each([
    ['groups', JSON.stringify({ phases: [{ name: 'One', tasks: [{ id: 'A', title: 'A', status: 'pending' }] }] })],
    ['headings', headings(' ')],
    ['done headings', headings('x')],
  ])('is refused before an agent is asked if its stories are in %s', (_name, text) => {
    expect(messageOf(() => assertUpdatable(Buffer.from(text), 'p'))).toMatch(/^PRD_INVALID: p cannot be updated/);
  });

  it.each([JSON_PLAN, MARKDOWN_PLAN, BULLETS])('may be updated if its stories are one list', (text) => {
    expect(() => assertUpdatable(Buffer.from(text), 'p')).not.toThrow();
  });

  it('is refused where stories are spread over groups', () => {
    const groups = { phases: [{ name: 'One', tasks: [{ id: 'A', title: 'A', status: 'pending' }] }] };
    expect(messageOf(() => updatePlan(Buffer.from(JSON.stringify(groups)), planOf(planned('B')), 'p.json'))).toMatch(
      /^PRD_INVALID: p\.json cannot be updated: it is grouped/,
    );
  });
});
