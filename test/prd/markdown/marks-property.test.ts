import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { markDone } from '../../../src/prd/mark-done.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';
import { toBytes } from '../../support/prd/prd-writers.ts';

const RUNS = LEVEL >= FULL ? 100_000 : 1_000;

/** Lines as plans have them, and as authors and editors break them. */
const part = fc.constantFrom(
  ...'### US-1: a|### US-2: b|## Task 1: c|### [ ] US-3: d|## Phase 1|# Plan|## Optional|## Example'.split('|'),
  ...'US-4: e\n-------|Title\n=====|---|***|> - [ ] f|> ### US-5: g'.split('|'),
  ...'- [ ] h|- [x] i|* [ ] T1: j|1. [ ] k|- [ ]* l|- [~] m|- [ ] 1. n|- [ ] 1.1 o|- [ ] **01-p** — q|- - [ ] r'.split(
    '|',
  ),
  ...'  - [ ] s|    - [ ] t|      - u|\t- [x] v|  text|    code|- w|- [#42] x|- [#7] y [DONE]'.split('|'),
  ...'**Acceptance Criteria:**|**Status:** Open|Status: in progress — z|**AC1 - a:**|  - **Done when**: b'.split('|'),
  ...'**Depends on:** US-1|  - Depends on: T1|```|```markdown|```sh|~~~|<!-- c|-->|`<!--`|<pre>|</pre>|<details>'.split(
    '|',
  ),
  ...'| d | e |\n| - | - |\n| - [ ] f | g ||[h]: i|\\`|_Requirements: 1.1_|~~j~~|✅|[x]|[ ]'.split('|'),
  '',
  '',
  '',
);
const file = fc.record({
  parts: fc.array(part, { maxLength: 25 }),
  frontMatter: fc.boolean(),
  ends: fc.array(fc.constantFrom('\n', '\r\n'), { minLength: 1, maxLength: 3 }),
  mark: fc.boolean(),
  cuts: fc.array(fc.tuple(fc.nat(400), fc.nat(6), fc.constantFrom('', '`', ' ', '\n', '[', '-', '#', '<!--')), {
    maxLength: 2,
  }),
});

function write({
  parts,
  frontMatter,
  ends,
  mark,
  cuts,
}: typeof file extends fc.Arbitrary<infer T> ? T : never): string {
  const lines = [...(frontMatter ? ['---', 'owner: a', '- [ ] b', '---'] : []), ...parts].join('\n').split('\n');
  const text = lines.map((line, index) => `${line}${ends[index % ends.length] ?? ''}`).join('');
  const cut = cuts.reduce((all, [at, length, put]) => all.slice(0, at) + put + all.slice(at + length), text);
  return `${mark ? '\uFEFF' : ''}${cut}`;
}

/** A text without all that a mark may change: ticks, words for a status, and appended signs. */
function withoutMarks(text: string): string {
  return text
    .replace(/\[[ xX~\-/>!]\]/g, '[]')
    .replace(/(?<=S\W*t\W*a\W*t\W*u\W*s\W*:)[^\r\n]*/gi, '')
    .replace(/ (?:✅|\[DONE\])/g, '');
}

test(
  'a Markdown file is read or refused, and a mark changes nothing but the mark',
  { timeout: 300_000 + RUNS * 20 },
  () => {
    fc.assert(
      fc.property(file, fc.nat(3), (parts, place) => {
        const text = write(parts);
        const bytes = toBytes(text);
        try {
          const { stories, specHash } = parsePrd(bytes, 'prd');
          const open = stories.filter(({ status }) => status !== 'done');
          const story = open[place % Math.max(1, open.length)];
          if (story === undefined) return;
          const before = stories.filter(({ status }) => status === 'done');
          const marked = markDone(bytes, 'prd', { landed: [story], before }).bytes;
          const after = new TextDecoder('utf-8', { ignoreBOM: true }).decode(marked);
          expect(withoutMarks(after)).toBe(withoutMarks(text));
          const again = parsePrd(marked ?? bytes, 'prd');
          expect(again.specHash).toBe(specHash);
          expect(again.stories.map(({ title }) => title)).toEqual(stories.map(({ title }) => title));
          expect(again.stories.filter(({ status }) => status === 'done')).toHaveLength(before.length + 1);
        } catch (error) {
          if (!(error instanceof HaloError) || error.code !== 'PRD_INVALID') throw error;
        }
      }),
      { numRuns: RUNS },
    );
  },
);
