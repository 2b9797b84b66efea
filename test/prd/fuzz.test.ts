import { describe, expect, test } from 'vitest';
import { HaloError } from '../../src/core/failure/errors.ts';
import type { Prd } from '../../src/core/prd/prd.ts';
import { convertPrd } from '../../src/prd/convert-prd.ts';
import { FIELDS } from '../../src/core/prd/fields.ts';
import { GROUP_KEYS, LIST_KEYS } from '../../src/prd/json/field-aliases.ts';
import { markDone } from '../../src/prd/mark-done.ts';
import { parsePrd } from '../../src/prd/parse-prd.ts';
import { FULL, LEVEL } from '../support/suite/level.ts';
import { FULL_DIALECTS, toBytes, writeSamples, type Sample } from '../support/prd/prd-writers.ts';
import fc from '../support/fast-check.ts';

/** How many times as much is tried. */
const TIMES = LEVEL >= FULL ? 5 : 1;
const dialect = fc.constantFrom(...FULL_DIALECTS);

/** The PRD, or undefined when it is refused as it should be; anything else is thrown on. */
function read(bytes: Uint8Array): Prd | undefined {
  try {
    return parsePrd(bytes, 'prd');
  } catch (error) {
    if (error instanceof HaloError && error.code === 'PRD_INVALID' && error.message.startsWith('prd')) return undefined;
    throw error;
  }
}

const sample: fc.Arbitrary<Sample> = fc.record(
  {
    id: fc.constantFrom('US-001', 'US-002', 'US-003', '#4', '5', 'cart'),
    title: fc.constantFrom('Add a cart', 'Ändere «das»', '修正 🐛', '1. first', '[x] y', 'a # b', '- c'),
    done: fc.boolean(),
    needs: fc.subarray(['US-001', 'US-002', '1']),
  },
  { requiredKeys: ['id'] },
);
const file = fc.tuple(dialect, fc.array(sample, { maxLength: 5 })).map(([id, stories]) => writeSamples(id, stories));

/** Cuts, copies and inserts in the middle of a text, as editors, merges and crashes do. */
const mutation = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat(40),
  insert: fc.oneof(
    fc.constantFrom(
      '',
      '"',
      '{',
      ']',
      ',',
      ':',
      '\\',
      '\n',
      '\u0019',
      '\uFEFF',
      '- [ ] ',
      '```\n',
      '<!--',
      '-->',
      '---\n',
    ),
    fc.constantFrom('## Optional\n', '### US-9: x\n', '**Acceptance Criteria:**\n', '"id": 1,', '"passes": 3,', 'null'),
    fc.string({ maxLength: 8 }),
  ),
  copy: fc.boolean(),
});
type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

function mutate(text: string, mutations: Mutation[]): string {
  return mutations.reduce((current, { at, length, insert, copy }) => {
    const from = Math.floor(at * current.length);
    const part = current.slice(from, from + length);
    return current.slice(0, from) + insert + (copy ? part + part : '') + current.slice(from + length);
  }, text);
}

const mutated = fc.tuple(file, fc.array(mutation, { maxLength: 4 })).map(([text, all]) => mutate(text, all));

/** JSON that uses the words of PRDs in all the wrong places. */
const keys = [
  ...LIST_KEYS,
  ...GROUP_KEYS,
  ...FIELDS.id.keys,
  ...FIELDS.flag.keys,
  ...FIELDS.acceptance.keys,
  ...FIELDS.dependsOn.keys,
];
const word = fc.constantFrom(
  ...keys,
  'title',
  'description',
  'status',
  'priority',
  'notes',
  'master',
  'prd',
  '__proto__',
  '0',
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.oneof(
      fc.string({ maxLength: 6 }),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.constantFrom('done', 'a', '1', 1),
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(word, tie('value'), { maxKeys: 6 }),
  ),
}));

const line = fc
  .tuple(
    fc.constantFrom('', '  ', '    ', '\t', '> '),
    fc.constantFrom('- ', '* ', '1. ', '# ', '### ', '', '- [ ] ', '- [x] ', '- [~] ', '* [ ] ', '2) [X] '),
    fc.constantFrom(
      'US-001: a',
      'T001 [P] b',
      '**1.2 c**',
      '1. d',
      '1.1 e',
      '[#4] f',
      'plain',
      '',
      'Acceptance Criteria:',
    ),
    fc.constantFrom(
      '',
      ' (depends on: US-001)',
      ' Depends on: 1',
      ' High Priority',
      ' Optional',
      ' `<!--`',
      ' <!-- x -->',
    ),
  )
  .map((parts) => parts.join(''));
const markdown = fc.array(line, { maxLength: 20 }).map((lines) => lines.join('\n'));

describe('hazard 29: a file with any content', () => {
  const survives = (text: string) => {
    const prd = read(toBytes(text));
    if (prd !== undefined) expect(new Set(prd.stories.map(({ id }) => id)).size).toBe(prd.stories.length);
  };

  test('bytes are read or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => void read(bytes)),
      { numRuns: 60 * TIMES },
    );
  });
  test('a PRD with deleted and duplicated parts is read or refused', () => {
    fc.assert(fc.property(mutated, survives), { numRuns: 300 * TIMES });
  });
  test('JSON is read or refused', () => {
    fc.assert(
      fc.property(value, (json) => survives(JSON.stringify(json))),
      { numRuns: 300 * TIMES },
    );
  });
  test('Markdown is read or refused', () => {
    fc.assert(fc.property(markdown, survives), { numRuns: 300 * TIMES });
  });
});

describe('no story is dropped silently', () => {
  test('each member of the list of a JSON file is a story, or the file is refused', () => {
    const members = fc.array(fc.dictionary(word, value, { maxKeys: 5 }), { maxLength: 4 });
    fc.assert(
      fc.property(fc.constantFrom('userStories', 'tasks', 'features'), members, (key, list) => {
        const prd = read(toBytes(JSON.stringify({ [key]: list.map((more) => ({ title: 'x', ...more })) })));
        if (prd === undefined || prd.dialect === 'grouped') return;
        expect(prd.stories).toHaveLength(list.length);
      }),
      { numRuns: 200 * TIMES },
    );
  });

  test('the text of each checkbox is in the stories, or a warning names what is ignored', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
        const marked = lines.map((text, index) => (text.includes('] ') ? `${text} token${index}.` : text));
        const prd = read(toBytes(marked.join('\n')));
        if (prd === undefined) return;
        const all = JSON.stringify([prd.stories, prd.warnings.length > 0]);
        const boxes = marked.flatMap(
          (text) => /^[ \t]*(?:[-*]|\d[.)]) \[[ xX~]\] .*(token\d+\.)$/.exec(text)?.[1] ?? [],
        );
        if (prd.warnings.length === 0) for (const token of boxes) expect(all).toContain(token);
      }),
      { numRuns: 300 * TIMES },
    );
  });
});

describe('a parsed file', () => {
  test('can be marked as done: it then reads as done and specifies the same work', () => {
    fc.assert(
      fc.property(fc.oneof(mutated, markdown), fc.nat(3), (text, index) => {
        const prd = read(toBytes(text));
        const open = prd?.stories.filter(({ status }) => status === 'pending' || status === 'in_progress') ?? [];
        const story = open[index];
        if (prd === undefined || story === undefined) return;
        const before = prd.stories.filter(({ status }) => status === 'done');
        const { bytes, gone } = markDone(toBytes(text), 'prd', { landed: [story], before });
        expect(gone).toEqual([]);
        const after = parsePrd(bytes!, 'prd');
        expect(after.specHash).toBe(prd.specHash);
        expect(after.stories.filter(({ status }) => status === 'done')).toHaveLength(before.length + 1);
      }),
      { numRuns: 300 * TIMES },
    );
  });

  test('can be converted without losing a story, or the dialect reports why not', () => {
    fc.assert(
      fc.property(fc.oneof(mutated, markdown), dialect, (text, to) => {
        const prd = read(toBytes(text));
        if (prd === undefined) return;
        try {
          const { text: written } = convertPrd(toBytes(text), 'prd', to);
          expect(parsePrd(toBytes(written), 'prd').stories).toHaveLength(prd.stories.length);
        } catch (error) {
          if (!(error instanceof HaloError) || !/cannot be written as.*(?!stories would be lost)/.test(error.message))
            throw error;
        }
      }),
      { numRuns: 200 * TIMES, examples: [['### US-001: a\n2) [X] US-001: a\n- Depends on: 1', 'hank']] },
    );
  });
});

/** Each is read or refused before the test's time is up, which a search that goes back and forth would not be. */
describe('large files', { timeout: LEVEL >= FULL ? 300_000 : 60_000 }, () => {
  const repeated = (part: string, times: number, share: number) =>
    part.repeat(Math.floor(Math.min(times, (4 * 1024 * 1024 - 100) / part.length) * (LEVEL >= FULL ? 1 : share)));
  const most = (part: string, times = Infinity) => repeated(part, times, 0.2);
  /** What takes longest to read. */
  const many = (part: string, times = Infinity) => repeated(part, times, 0.05);

  test.each([
    ['numbers', `[${most('1,')}1]`],
    ['empty objects', `{"tasks": [${most('{},')}{}]}`],
    ['stories', `{"tasks": [${many('{"id":"a","title":"x"},')}{"title": "y"}]}`],
    ['an endless string', `{"tasks": "${most('a')}`],
    ['escapes', `["${most('\\\\')}"]`],
    ['brackets', most('[')],
    ['values', `{"tasks": [{"title": "x", "tags": [${many('1,', 140_000)}1]}]}`],
    ['keys', `{"tasks": [{"title": "x", ${many('"id":1,', 140_000)}"id": 1}]}`],
    ['boxes', most('- [ ] a\n')],
    ['lines of boxes', many('- [ ] a (depends on: 1)\n', 99_000)],
    ['lines of headings', many('### A-1: a\nAcceptance Criteria:\n', 49_000)],
    ['lines of bullets', `- [ ] a\n${many('  - b\n', 99_000)}`],
    ['story headings', many('### US-1: a\n')],
    ['headings with criteria', many('### A-1: a\nAcceptance Criteria:\n')],
    ['heading signs', `# ${most('# ')}x`],
    ['spaces', `- [ ] a${most(' ')}b`],
    ['backticks', `- [ ] ${most('`')}`],
    ['comments', `- [ ] a ${most('<!--')}`],
    ['references', `- [ ] a (depends on: ${most('1, ')})`],
    ['bold', `- [ ] ${most('**')}`],
    ['one line', `- [ ] ${most('depends on ')}`],
    ['nested bullets', `- [ ] a\n${most('  - b\n')}`],
  ])('a large file of %s is parsed in bounded time', (_what, text) => {
    read(toBytes(text));
  });
});
