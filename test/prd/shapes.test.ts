import { describe, expect, test } from 'vitest';
import { parsePrd } from '../../src/prd/parse-prd.ts';
import { textsIn, toldOf, wordsLost } from '../support/prd/prd-words.ts';
import { toBytes } from '../support/prd/prd-writers.ts';
import fc from '../support/fast-check.ts';

/** What a file is read as: `status` of all stories in the order of the file, `needs` of those that have any. */
interface Expected {
  ids?: string[];
  status?: string[];
  needs?: Record<string, string[]>;
  criteria?: number[];
}

function read(text: string, { ids, status, needs, criteria }: Expected) {
  const prd = parsePrd(toBytes(text), 'prd');
  if (ids !== undefined) expect(prd.stories.map(({ id }) => id)).toEqual(ids);
  if (status !== undefined) expect(prd.stories.map((story) => story.status)).toEqual(status);
  if (criteria !== undefined) expect(prd.stories.map(({ acceptance }) => acceptance.length)).toEqual(criteria);
  for (const [id, needed] of Object.entries(needs ?? {}))
    expect(prd.stories.find((story) => story.id === id)?.dependsOn).toEqual(needed);
  return prd;
}

const JSON_SHAPES: [string, unknown, Expected][] = [
  [
    'an API contract and files beside the criteria',
    {
      constraints: ['Never touch the billing schema'],
      userStories: [
        {
          id: 'US-1',
          title: 'Cart endpoint',
          acceptanceCriteria: ['Answers within a second'],
          technicalNotes: 'Reuse the repository pattern',
          files: ['src/cart/routes.ts', 'src/cart/store.ts'],
          apiContract: { method: 'POST', path: '/cart', body: { sku: 'string', amount: 'integer' } },
          service: 'checkout',
          passes: false,
        },
      ],
    },
    { ids: ['US-1'], criteria: [1] },
  ],
  [
    'action items and nested subtasks',
    {
      tasks: [
        {
          id: 1,
          title: 'Ledger',
          actionItems: [{ step: 'Write migration', owner: 'backend' }, { step: 'Backfill rows' }],
          subtasks: [{ id: 1, title: 'Create table', details: 'Partitioned monthly', dependencies: [] }],
        },
      ],
    },
    { ids: ['1'] },
  ],
  [
    'keys in capitals, with spaces and hyphens',
    {
      Tasks: [
        { ID: 'A', Title: 'Login', 'Acceptance Criteria': ['Shows dashboard'], Status: 'Done' },
        { ID: 'B', Title: 'Logout', 'acceptance-criteria': ['Shows landing'], 'Depends On': ['A'], Status: 'To Do' },
      ],
    },
    { ids: ['A', 'B'], status: ['done', 'pending'], needs: { B: ['A'] }, criteria: [1, 1] },
  ],
  [
    'progress as a checked box, as a word, and in other forms',
    {
      stories: [
        { id: 'a', title: 'Base', checked: true },
        { id: 'b', title: 'Store', progress: 'done' },
        { id: 'c', title: 'View', progress: '50%', depends: ['a', 'b'] },
        { id: 'd', title: 'Print', progress: 100, depends: 'c' },
        { id: 'e', title: 'Scan', checked: false, progress: 'In progress' },
      ],
    },
    {
      status: ['done', 'done', 'pending', 'pending', 'in_progress'],
      needs: { c: ['a', 'b'], d: ['c'] },
    },
  ],
  [
    'dependencies under several keys',
    {
      stories: [
        { id: 'a', title: 'Base', passes: true },
        { id: 'b', title: 'Store', dependsOn: [], blockedBy: ['a'] },
        { id: 'c', title: 'View', needs: ['b', 'a Figma export'], requires: 'b' },
      ],
    },
    { status: ['done', 'pending', 'pending'], needs: { b: ['a'], c: ['b'] } },
  ],
  [
    'progress in other words',
    {
      items: [
        { id: 'a', title: 'One', state: 'done' },
        { id: 'b', title: 'Two', isDone: true },
        { id: 'c', title: 'Three', finished: true },
        { id: 'd', title: 'Four', status: '✅ Done' },
        { id: 'e', title: 'Five', status: 'in review' },
        { id: 'f', title: 'Six', state: 'marinating' },
        { id: 'g', title: '~~Seven~~', status: 'todo' },
      ],
    },
    { status: ['done', 'done', 'done', 'done', 'in_progress', 'pending', 'skipped'] },
  ],
  [
    'phases with goals, and one without stories',
    {
      project: 'Shop',
      principles: { first: 'Boring technology wins' },
      phases: [
        { name: 'Foundations', goal: 'Deployable skeleton', tasks: [{ id: 'P1', title: 'Pipeline' }] },
        { name: 'Payments', risks: ['Provider onboarding'], tasks: [{ id: 'P2', title: 'Checkout' }] },
        { name: 'Someday', idea: 'Marketplace integration' },
      ],
    },
    { ids: ['P1', 'P2'] },
  ],
  [
    'epics with stories with tasks',
    {
      epics: [
        {
          title: 'Accounts',
          outcome: 'Customers register themselves',
          stories: [{ title: 'Register', rationale: 'Support tickets', tasks: [{ id: 'T1', title: 'Form' }] }],
        },
      ],
    },
    { ids: ['T1'] },
  ],
  [
    'a wrapper with rules around it',
    {
      instructions: 'Prefer small commits',
      prd: { nonGoals: ['Mobile application'], stories: [{ id: 'a', title: 'Search' }] },
    },
    { ids: ['a'] },
  ],
  [
    'criteria that are objects with commands',
    {
      userStories: [
        {
          id: 'a',
          title: 'Export',
          acceptanceCriteria: [
            { id: 'AC1', text: 'Writes columns', testCommand: 'pytest tests/export' },
            { given: 'empty basket', when: 'exporting', then: 'headers only' },
          ],
        },
      ],
    },
    { criteria: [2] },
  ],
  [
    'descriptions that are lists or objects',
    {
      tasks: [
        { id: 'a', title: 'Alerts', description: ['Mail first', 'Webhook later'] },
        { id: 'b', title: 'Audit', description: { why: 'Compliance asks', how: 'Append only' } },
      ],
    },
    { ids: ['a', 'b'] },
  ],
  [
    'a user story as an object with more in it',
    {
      stories: [
        { id: 'a', title: 'Wishlist', user_story: { as_a: 'visitor', i_want: 'lists', context: 'Without account' } },
      ],
    },
    { ids: ['a'] },
  ],
  [
    'a map of stories with other spellings beside the title',
    { stories: { 'S-1': { title: 'Index', summary: 'Inverted lists', why: 'Latency budget', passes: false } } },
    { ids: ['S-1'] },
  ],
  [
    'notes that are objects, and numbers',
    {
      features: [{ id: 7, name: 'Quota', notes: [{ from: 'ada', says: 'Mind leap seconds' }], estimateHours: 4.5 }],
    },
    { ids: ['7'] },
  ],
  [
    'long ids',
    {
      tasks: [
        { id: 12345678901234567890, title: 'Long' },
        { id: '1.10', title: 'Dotted', dependencies: ['12345678901234567890'] },
      ],
    },
    { ids: ['12345678901234567000', '1.10'] },
  ],
  [
    'tags, with words about the chosen one',
    { master: { tasks: [{ id: 1, title: 'Cache' }], metadata: { description: 'Quarter goals', hint: 'Reuse Redis' } } },
    { ids: ['1'] },
  ],
  ['no stories yet, as a map', { overview: 'Nothing planned', stories: {} }, { ids: [] }],
  [
    'an empty list in front of full phases',
    { tasks: [], phases: [{ name: 'Core', tasks: [{ id: 'a', title: 'Boot' }] }] },
    { ids: ['a'] },
  ],
  [
    'a bare list with verification and hints',
    [{ category: 'functional', description: 'Sends a message', steps: ['Open chat'], hints: 'Mock transport' }],
    { criteria: [1] },
  ],
];

JSON_SHAPES.push(
  [
    'a map of groups, whose tasks are lists',
    {
      taskGroups: {
        base: { groupName: 'Ground work', tasks: [{ id: 'T-1', name: 'Wire', status: 'completed' }] },
        more: { tasks: [{ id: 'T-2', name: 'Paint', status: 'pending', dependencies: ['T-1'] }] },
      },
    },
    { ids: ['T-1', 'T-2'], status: ['done', 'pending'], needs: { 'T-2': ['T-1'] } },
  ],
  [
    'dependencies as objects, and criteria under other names',
    {
      tasks: [
        { id: 'a1', name: 'Schema', status: 'completed', verificationCriteria: 'It compiles' },
        { id: 'b2', name: 'Store', status: 'pending', dependencies: [{ taskId: 'a1' }], successCriteria: ['It saves'] },
        { id: 'c3', name: 'View', doneWhen: 'It shows\nIt scrolls' },
      ],
    },
    { status: ['done', 'pending', 'pending'], needs: { b2: ['a1'] }, criteria: [1, 1, 2] },
  ],
  [
    'the date of a flag',
    {
      tasks: [
        { id: 'a', title: 'Base', status: 'completed', completed: '2025-09-21T14:18:41Z' },
        { id: 'b', title: 'Store', completed: '2025-09-22' },
        { id: 'c', title: 'View', completed: null, status: 'paused' },
      ],
    },
    { status: ['done', 'done', 'blocked'] },
  ],
);

describe('JSON: no text of the file is lost', () => {
  test.each(JSON_SHAPES)('%s', (_what, json, expected) => {
    const text = JSON.stringify(json, null, 2);
    // Numbers in JavaScript lose digits before halo sees them: this one is put in as text.
    const prd = read(text.replace('12345678901234567000,', '12345678901234567890,'), {
      ...expected,
      ...longId(expected),
    });
    expect(prd.stories.length === 0 ? [] : wordsLost(textsIn(json).join('\n'), prd)).toEqual([]);
  });

  const longId = ({ ids }: Expected): Expected =>
    ids === undefined ? {} : { ids: ids.map((id) => id.replace('12345678901234567000', '12345678901234567890')) };

  test('any field name at any depth', () => {
    const word = fc.stringMatching(/^[a-z]{9}$/);
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 7 },
        word,
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.stringMatching(/^[a-z]{1,5}[0-9]$/), tie('value'), { maxKeys: 3 }),
        fc.constantFrom(null, true, 12, ''),
      ),
    }));
    const name = fc.oneof(
      fc.stringMatching(/^[A-Za-z_-]{1,3}[a-z]{0,9}[0-9]$/),
      fc.constantFrom(
        'technicalNotes',
        'constraints',
        'files',
        'actionItems',
        'labels',
        '__proto__',
        'toString',
        'group',
      ),
    );
    const fields = fc.array(fc.tuple(name, value), { maxLength: 4 });
    fc.assert(
      fc.property(fields, fields, (ofStory, ofPrd) => {
        const json = JSON.stringify({
          ...fromEntries(ofPrd),
          tasks: [{ id: 'a', title: 'b', ...fromEntries(ofStory) }],
        });
        const prd = parsePrd(toBytes(json), 'prd');
        expect(prd.stories).toHaveLength(1);
        expect(wordsLost(textsIn(JSON.parse(json)).join('\n'), prd)).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });
});

function fromEntries(entries: [string, unknown][]): Record<string, unknown> {
  return Object.fromEntries(entries.filter(([key]) => key !== 'title'));
}

/** Names of fields that halo reads are not text of a person. */
const LABELS = [
  'Acceptance Criteria',
  'Criteria',
  'Description',
  'Status',
  'Priority',
  'Depends',
  'Blocked',
  'Deps',
  'Notes',
  'Task',
  '完了条件',
  "Critères d'acceptation",
  'Criterios de aceptación',
  'Akzeptanzkriterien',
];
const STATES = ['Done', 'DONE', 'Todo', 'Open', 'High', 'done', 'none'];

const MARKDOWN_SHAPES: [string, string, Expected][] = [
  [
    'labels of all kinds below a story heading',
    `# Shop
Sells things.
## Principles
- Boring technology
## Stories
### US-001: Cart
**As a** customer, **I want** a basket, **so that** I can gather goods.
**Files:** \`src/basket.ts\`
**Out of this:** vouchers
*Hint*: begin with totals
__Risk__: rounding
- **Owner:** platform team

**Technical Notes:**

Money is integer cents.

- never floats

**Acceptance Criteria:**
- [ ] sums up
`,
    { ids: ['US-001'], criteria: [1] },
  ],
  [
    'a wrapped description between other lines',
    `### US-1: Totals
**Priority:** 1
**Description:** As a buyer
I see totals.

More about totals.

**Acceptance Criteria:**
- [ ] shown
`,
    { criteria: [1] },
  ],
  [
    'status lines and several labels on one line',
    `### US-1: One
**Status:** Done
**Acceptance:**
- works
### US-2: Two
**Priority:** High | **Status:** In progress — waiting for keys | **Depends on:** US-1
**Acceptance:**
- works
### US-3: Three
Status: ✅ Done (merged yesterday)
Acceptance Criteria:
- works
`,
    { status: ['done', 'in_progress', 'done'], needs: { 'US-2': ['US-1'] } },
  ],
  [
    'code below a story and inside of its criteria',
    `### T-1: Endpoint
Answer like this:
\`\`\`json
{ "total": 3, "currency": "euro" }
\`\`\`
**Acceptance Criteria:**
- [ ] matches
  \`\`\`sh
  curl localhost
  \`\`\`
- [ ] documented
`,
    { criteria: [2] },
  ],
  [
    'tables and words above the criteria',
    `### T-1: Rates
**Acceptance Criteria:**

All of these hold:

| given | expect |
| ----- | ------ |
| gold  | reduction |

- [ ] tested
`,
    { ids: ['T-1'] },
  ],
  [
    'sub-headings of a story',
    `## 1.1 Import
#### Background
Legacy exports are latin.
#### Acceptance Criteria
1. decodes
#### Tasks
- [ ] sniff encoding
- [ ] convert
`,
    { ids: ['1.1'], criteria: [1] },
  ],
  [
    'headings without ids that have criteria',
    `# Tracker
## Add dark mode
Eyes hurt.
**Criteria:**
- [ ] toggles
- [ ] persists
## Export data
**Acceptance:**
- [x] downloads
`,
    { ids: ['add-dark-mode', 'export-data'], status: ['pending', 'done'], criteria: [2, 1] },
  ],
  [
    'criteria beside the box of their story',
    `# Plan
- [ ] Add search
**Criteria:**
- [ ] finds titles
- [ ] ranks them

- [x] Add filters
**Criteria:**
- [x] narrows results
`,
    { ids: ['add-search', 'add-filters'], status: ['pending', 'done'], criteria: [2, 1] },
  ],
  [
    'criteria of a whole phase',
    `# Plan
## Phase 1: Storage
Durable before quick.
- [ ] T001 journal
- [ ] T002 snapshots

**Acceptance criteria:**
- [ ] survives power cuts
`,
    { ids: ['T001', 'T002'] },
  ],
  [
    'prose around phases',
    `Preamble words.

# Plan
Introduction here.
- bullet knowledge
## Phase 1
> **Goal**: walking skeleton
### Setup
Needs credentials.
- [ ] T001 pipeline
  continued there

  Paragraph below.
  - detail bullet
    wrapped detail
**Checkpoint**: deployable
## Phase 2
Polish everything.
- [ ] T002 colours
## Architecture
Hexagonal ports.
`,
    { ids: ['T001', 'T002'] },
  ],
  [
    'words like optional and future in headings',
    `# Optional modules
## Future-proof parsing
- [ ] tokens
## Optional chaining
- [ ] syntax
## Future work
- [ ] generics
## Phase 3: Deferred
- [ ] macros
`,
    { status: ['pending', 'pending', 'skipped', 'skipped'] },
  ],
  [
    'headings with examples in their names',
    `# Docs
## Add examples to the manual
- [ ] quickstart
## Example
- [ ] sample entry
`,
    { ids: ['quickstart'] },
  ],
  [
    'dependencies in many words',
    `# Plan
- [x] T001: base
- [ ] T002: mid
  - Deps: T001
- [ ] T003: top
  - Blocked by: T002 (mid)
- [ ] T004: roof (requires T003)
- [ ] T005: paint
  - Needs: ladder
- [ ] T006: sign
  - Depends on: none
`,
    { needs: { T002: ['T001'], T003: ['T002'], T004: ['T003'], T005: [], T006: [] } },
  ],
  [
    'boxes without spaces, struck out and odd ones',
    `# Plan
- [x]Done already
- [ ]Open still
- [ ] ~~Abandoned idea~~
- [] Malformed line
`,
    { status: ['done', 'pending', 'skipped'] },
  ],
  [
    'struck ids with text after them',
    `# Plan
- [ ] T1 Storage
- [ ] ~~T2~~ Cache, now part of T1
- [ ] ~~T3: Index~~ moved to T4
- [ ] T4 ~~Redis~~ Postgres
`,
    { ids: ['T1', 'T2', 'T3', 'T4'], status: ['pending', 'skipped', 'skipped', 'pending'] },
  ],
  [
    'struck headings',
    `### US-1: ~~Gone feature~~
**Acceptance:**
- never
### ~~US-2: Other feature~~
**Acceptance:**
- neither
### US-3: Staying
**Acceptance:**
- yes
### ~~US-4~~ Merged into US-3
**Acceptance:**
- absent
`,
    { status: ['skipped', 'skipped', 'pending', 'skipped'] },
  ],
  [
    'code between boxes',
    `# Plan
- [ ] Parse this
  \`\`\`yaml
  retries: seven
  \`\`\`
- [ ] Print that
\`\`\`
verbatim output
\`\`\`

\`\`\`
unattached sample
\`\`\`
`,
    { ids: ['parse-this', 'print-that'] },
  ],
  [
    'front matter and comments',
    `---
owner: platform
deadline: michaelmas
---
# Plan
<!-- hidden remark -->
- [ ] visible
`,
    { ids: ['visible'] },
  ],
  [
    'groups by number',
    `# Plan
- [ ] 1. Kernel, written carefully
  - preemptive
- [ ] 1.1 Scheduler
- [ ] 1.2 Memory
- [ ] 2. Shell
`,
    { ids: ['1.1', '1.2', '2'] },
  ],
  [
    'boxes elsewhere than in stories',
    `### US-1: Cart
**Acceptance:**
- [ ] adds
**Open questions:**
- [ ] which currency
## Success metrics
- [ ] conversion doubles
`,
    { ids: ['US-1'], criteria: [1] },
  ],
  [
    'stories without any line for criteria',
    `### US-1: Cart
**Acceptance Criteria:**
- [ ] adds
### US-2: Till
**Priority:** 2
- [x] prints
- [x] refunds
`,
    { status: ['pending', 'done'], criteria: [1, 2] },
  ],
  [
    'headings with ids and a status, and boxes directly below',
    `# Shop
## User Stories
### US-001: Login
**Status:** Done
- [x] form shows
### US-002: Logout
**Status:** Todo
**Depends on:** US-001
- [ ] clears session
- [ ] redirects
### US-003: Profile
- [ ] avatar
`,
    {
      ids: ['US-001', 'US-002', 'US-003'],
      status: ['done', 'pending', 'pending'],
      needs: { 'US-002': ['US-001'] },
      criteria: [1, 2, 1],
    },
  ],
  [
    'headings with ids and nothing but boxes',
    `# Shop
## EPIC-1: Accounts
**Status:** In progress
### BUG-7: Crash
It fails on Mondays.
- [ ] AC-1: no crash
- [ ] AC-2: logged
### BUG-8: Typo
- [x] spelled right
## Release checklist
- [ ] tag
`,
    { ids: ['BUG-7', 'BUG-8'], status: ['pending', 'done'], criteria: [2, 1] },
  ],
  [
    'headings with progress marks',
    `### US-1: Login [DONE]
- [ ] form
### [DONE] US-2: Logout
- [ ] clears
### US-3: Cart ✅
- [ ] adds
### [x] US-4: Till
- [ ] prints
### [ ] US-5: Stock
**Deps:** US-4
- [ ] counts
`,
    {
      ids: ['US-1', 'US-2', 'US-3', 'US-4', 'US-5'],
      status: ['done', 'done', 'done', 'done', 'pending'],
      needs: { 'US-5': ['US-4'] },
    },
  ],
  [
    'tasks with steps below lists and code',
    `# Plan
### Task 1: Parser
**Files:**
- Create: parser.ts

- [ ] **Step 1: Write the test**

\`\`\`ts
expect(tokens);
\`\`\`

- [ ] **Step 2: Run it**
Expected: FAIL
### Task 2: Printer
**Steps:**
- [x] indent
- [x] wrap
`,
    { ids: ['task-1', 'task-2'], status: ['pending', 'done'], criteria: [2, 2] },
  ],
  [
    'headings without ids, each with a status',
    `# Plan
### Login
**Status:** Done
- [x] form
### Logout
**Status:** Open
- [ ] clears
`,
    { ids: ['login', 'logout'], status: ['done', 'pending'], criteria: [1, 1] },
  ],
  [
    'phases with a status above boxes that are stories',
    `# Plan
## Phase 1: Base
**Status:** In progress
- [x] journal
- [ ] snapshots
## 2. Polish
**Status:** Open
- [x] colours
- [ ] fonts
## M3: Ship
- [ ] package
`,
    { ids: ['journal', 'snapshots', 'colours', 'fonts', 'package'] },
  ],
  [
    'stories with a status above boxes with ids of their own',
    `# Tasks
## US-1: Login
**Status:** In progress
- [x] T001 form
- [ ] T002 session
`,
    { ids: ['T001', 'T002'], status: ['done', 'pending'] },
  ],
  [
    'sections with numbers above numbered boxes',
    `# Tasks
## 1. Setup
- [x] 1.1 Create
- [ ] 1.2 Configure
## 2. Core
- [ ] 2.1 Implement
`,
    { ids: ['1.1', '1.2', '2.1'] },
  ],
  [
    'stories below an example heading',
    `# Plan
## Example
### US-1: Sample
- [ ] shown
## Work
- [ ] real
`,
    { ids: ['real'] },
  ],
  [
    'headings that are not priorities',
    `# Plan
## High availability
- [ ] replicas
## Low-level API
- [ ] syscalls
## Critical path
- [ ] profiling
`,
    { ids: ['replicas', 'syscalls', 'profiling'] },
  ],
  [
    'unknown words for progress',
    `### US-1: Cart
**Status:** Simmering
**Acceptance:** adds up
`,
    { status: ['pending'], criteria: [1] },
  ],
];

MARKDOWN_SHAPES.push(
  [
    'bold checkboxes',
    '# Plan\n\n1. **[x] Wire** (`wire.ts`): sockets\n2. **[ ]** Paint\n3. __[ ] Polish__\n4. [ ] Ship\n',
    { status: ['done', 'pending', 'pending', 'pending'] },
  ],
  [
    'bullets below numbered criteria',
    `# Story 7.3: Settings
Status: done
## Acceptance Criteria
1. **AC1: Defaults**
   - **Given** a file
   - **Then** it loads
2. Overrides win
   - even empty ones
`,
    { status: ['done'], criteria: [2] },
  ],
  [
    'ranges of dependencies, and prose after them',
    `# Tasks
- [x] T001 wire
- [x] T002 paint
- [x] T003 polish
- [ ] T004 glue (depends on T001–T003 all landing — verify before)
- [ ] T005 ship (depends on T002-T004)
- [ ] T006 sell (depends on T001, T002; T006 and T004 touch the same drawer)
- [ ] T007 rest
  - Depends on: T002 to T003
- [ ] T008 sleep (depends on T006 – 7)
`,
    {
      needs: {
        T004: ['T001', 'T002', 'T003'],
        T005: ['T002', 'T003', 'T004'],
        T006: ['T001', 'T002'],
        T007: ['T002', 'T003'],
        T008: ['T006', 'T007'],
      },
    },
  ],
  [
    'ids that look like a range',
    '- [ ] A-1-2 wire\n- [ ] A-1 paint\n- [ ] A-2 glue (depends on A-1-2)\n- [ ] A-3 ship (depends on 1.1-1.2)\n'.replace(
      '1.1-1.2',
      'A-1',
    ),
    { needs: { 'A-2': ['A-1-2'], 'A-3': ['A-1'] } },
  ],
  [
    'a plan of tasks without checkboxes',
    '# Plan\n\nGoal words.\n\n### Task 1: Wire\n\n**Files:**\n- Create: `a.ts`\n\n**Step 1: Write the test**\n\n### Task 2: Paint\n\nBlue.\n',
    { ids: ['task-1', 'task-2'], status: ['pending', 'pending'], criteria: [0, 0] },
  ],
  [
    'phases that are listed as checkboxes as well',
    `# Roadmap
## Phases
- [x] **Phase 1: Ground** - the basics ✅
- [ ] **Phase 2: Walls** - bricks
- [ ] Phase 3: Roof
## Details
### Phase 1: Ground
- [x] 01-01: dig
### Phase 2: Walls
- [ ] 02-01: lay
- [ ] 02-02: plaster
`,
    { ids: ['phase-3-roof', '01-01', '02-01', '02-02'], status: ['pending', 'done', 'pending', 'pending'] },
  ],
  [
    'criteria in Japanese',
    '# 計画\n## Phase 1: 基盤\n### 作業\n- 設定\n### 完了条件\n- [ ] 動く\n- [ ] 速い\n## Phase 2: 画面\n### 完了条件\n- [x] 見える\n',
    { ids: ['phase-1-基盤', 'phase-2-画面'], status: ['pending', 'done'], criteria: [2, 1] },
  ],
  [
    'criteria in other languages',
    `# Plan
### US-1: Panier
**Critères d'acceptation :**
- [ ] additionne
### US-2: Pago
**Criterios de aceptación:**
- [ ] cobra
### US-3: Liste
#### Akzeptanzkriterien
- [ ] druckt
`,
    { ids: ['US-1', 'US-2', 'US-3'], criteria: [1, 1, 1] },
  ],
  [
    'a heading that says that all below it is done',
    '# Todo\n## Current Status: ✅ COMPLETED\n### Wires\n- [x] solder\n### Paint\n- [x] prime\n- [x] coat\n',
    { status: ['done', 'done', 'done'] },
  ],
  [
    'bullets with issues beside checkboxes without',
    '# Plan\n\n- [#42] Greet\n- [#43] Part [DONE]\n- [ ] Document\n\n## References\n\n- [#7] an older talk\n',
    { ids: ['#42', '#43', 'document'], status: ['pending', 'done', 'pending'] },
  ],
);

describe('Markdown: no text of the file is lost', () => {
  test.each(MARKDOWN_SHAPES)('%s', (what, text, expected) => {
    const prd = read(text, expected);
    // Which lines are not read is said; these are not.
    const omitted = {
      'front matter and comments': ['hidden remark'],
      'headings with examples in their names': ['sample entry Example'],
      'stories below an example heading': ['Example', 'Sample', 'shown'],
      // It is the id.
      'tasks with steps below lists and code': ['Task'],
    };
    const except = [...LABELS, ...STATES, ...((omitted as Record<string, string[]>)[what] ?? [])];
    expect(wordsLost(text, prd, except)).toEqual([]);
  });

  test('the parts of a description keep their order', () => {
    const [, text] = MARKDOWN_SHAPES.find(([what]) => what.startsWith('a wrapped description')) ?? [];
    expect(read(text ?? '', {}).stories[0]?.description).toBe('As a buyer\nI see totals.\n\nMore about totals.');
  });

  test('prose of a phase applies only to its own stories, that of other sections to all', () => {
    const [, text] = MARKDOWN_SHAPES.find(([what]) => what === 'prose around phases') ?? [];
    const { stories, context = [] } = read(text ?? '', {});
    const of = (words: string) => context.find((each) => each.text.includes(words))?.stories;
    expect(of('walking skeleton')).toEqual(['T001']);
    expect(of('Polish')).toEqual(['T002']);
    expect(of('Hexagonal')).toBeUndefined();
    expect(stories[0]?.acceptance).toEqual(['detail bullet wrapped detail']);
  });

  test('an unknown status is kept for the agent', () => {
    const prd = read('### US-1: a\n**Status:** Parser committed. Tests missing.\n**Acceptance:** b', {});
    expect(prd.stories[0]).toMatchObject({ status: 'pending', extra: { Status: 'Parser committed. Tests missing.' } });
  });

  test.each([
    ['## Future work\n- [ ] a', 'a: below "Future work", so it is skipped'],
    ['- [ ] ~~a~~', 'a: the title is struck through, so the story is skipped'],
    ['## Examples\n- [ ] a\n## b\n- [ ] c', 'checkboxes below an example heading are ignored: line 2'],
    ['### US-1: a\n**Status:** Simmering\n**Acceptance:** b', 'US-1: unknown status "Simmering", treated as pending'],
    ['- [ ] a <!-- b -->', 'HTML comments are ignored: line 1'],
    ['# x\n- [ ] a\n## Leftover', 'headings without content are ignored: line 3'],
  ])('a warning names what is left out of %j', (text, warning) => {
    expect(read(text, {}).warnings).toContain(warning);
  });
});

test.each<[what: string, text: string, note: string]>([
  [
    'a bullet with an issue in another section',
    '- [ ] Document\n\n## References\n\n- [#7] an older talk\n',
    'bullets with an issue, but without a checkbox, are text: line 5',
  ],
  [
    'a checkbox that names a heading',
    '- [ ] **Phase 1** - basics\n\n## Phase 1\n\n- [x] dig\n',
    'checkboxes with the text of a heading that has checkboxes are groups, not stories: line 1',
  ],
  [
    'success criteria as stories',
    '# Plan\n\n## Success Criteria\n\n- [ ] fast\n',
    'checkboxes below "Success Criteria" and the like are read as stories, not as criteria of other stories: line 5',
  ],
  [
    'success criteria in a tag',
    '<success_criteria>\n\n- [ ] fast\n\n</success_criteria>\n',
    'checkboxes below "Success Criteria" and the like are read as stories, not as criteria of other stories: line 3',
  ],
  [
    'tasks without checkboxes',
    '## Task 1: a\n\nb\n\n## Task 2: c\n',
    'the headings are read as stories; the file has neither checkboxes nor "Acceptance Criteria"',
  ],
  [
    'a task below a heading that is not a status',
    '# Tasks\n\n## Pending\n\n- [TASK1] a\n\n## Ideas\n\n- [TASK2] b\n',
    'tasks below headings that are not a status are text: line 9',
  ],
  ['an empty list of criteria', '{"tasks": [{"id": "a", "title": "b", "steps": []}]}', 'a: no acceptance criteria'],
  ['a group without stories', '{"epics": [{"id": "e1", "tasks": []}]}', 'e1 contains no stories'],
])('a note names %s', (_what, text, note) => {
  expect(parsePrd(toBytes(text), 'prd').warnings).toContain(note);
});

test.each(['### Task 1: alone\n\nText.\n', '### Feature 1: a\n\nText.\n\n### Feature 2: b\n'])(
  'a document without checkboxes is refused: %j',
  (text) => {
    expect(() => parsePrd(toBytes(text), 'prd')).toThrow('no known PRD dialect');
  },
);

test('text longer than a prompt is truncated, and a warning names the story', () => {
  const long = 'word '.repeat(20_000);
  const json = {
    constraints: long,
    tasks: [
      { id: 'a', title: 'b', description: long, notes: long, acceptance: ['is', long, long], plan: long, files: ['c'] },
    ],
  };
  const prd = parsePrd(toBytes(JSON.stringify(json)), 'prd');
  expect(prd.warnings.filter((each) => !each.includes('criteria'))).toEqual([
    'a: description has 99999 characters, the agent gets the first 40000',
    'a: acceptance has 199998 characters, the agent gets the first 39998',
    'a: notes has 99999 characters, the agent gets the last 20000',
    'a: plan has 99999 characters, the agent gets the first 39997',
    'a: constraints has 99999 characters, the agent gets the first 20000',
  ]);
  expect(toldOf(prd).length).toBeLessThan(165_000);
  expect(toldOf(prd)).toContain('files:\n- c');
});
