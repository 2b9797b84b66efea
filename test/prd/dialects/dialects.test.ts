import { describe, expect, test } from 'vitest';
import type { DialectId } from '../../../src/prd/dialect-registry.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { sortStories } from '../../../src/core/run/story-order.ts';
import { readPrdFile } from '../../../src/prd/parse-prd.ts';
import { DIALECTS } from '../../../src/prd/dialect-registry.ts';
import { FULL_DIALECTS, toBytes, writeSamples, type Sample } from '../../support/prd/prd-writers.ts';

/** A dialect that differs only in what it forbids must be selected explicitly. */
const AS: Partial<Record<DialectId, DialectId>> = { daedalus: 'daedalus' };

/** Dialects whose files are only a list. */
const WITHOUT_PROJECT = new Set<string>(['array', 'beads']);

/** Ids as each dialect has them; checkboxes without ids are called after their text. */
const IDS: Partial<Record<DialectId, [string, string, string]>> = {
  'markdown-checkbox': ['title-of-1', 'title-of-2', 'title-of-3'],
  hank: ['#11', '#12', '#13'],
  taskmaster: ['1', '2', '3'],
};

describe.each(FULL_DIALECTS)('the %s dialect', (dialect) => {
  const [a, b, c] = IDS[dialect] ?? ['US-001', 'US-002', 'US-003'];
  const named = (sample: Sample): Sample => {
    const number = [a, b, c].indexOf(sample.id) + 1;
    const position = (id: string) => String([a, b, c].indexOf(id) + 1);
    const needs = dialect === 'markdown-checkbox' ? sample.needs?.map(position) : sample.needs;
    return { title: `Title of ${number}`, ...sample, ...(needs === undefined ? {} : { needs }) };
  };
  const text = (samples: Sample[]) => writeSamples(dialect, samples.map(named));
  const read = (samples: Sample[]) => readPrdFile(toBytes(text(samples)), 'prd', { as: AS[dialect] }).prd;
  const refusal = (samples: Sample[]) => {
    try {
      read(samples);
    } catch (error) {
      if (error instanceof HaloError && error.code === 'PRD_INVALID') return error.message;
      throw error;
    }
    throw new Error('the PRD was accepted');
  };

  test('is detected by content and yields project, description and stories in file order', () => {
    const prd = read([{ id: b }, { id: a }]);
    expect(prd.dialect).toBe(dialect);
    if (!WITHOUT_PROJECT.has(dialect)) expect(prd).toMatchObject({ project: 'shop', description: 'A small shop.' });
    expect(prd.stories.map(({ id, title }) => [id, title])).toEqual([
      [b, 'Title of 2'],
      [a, 'Title of 1'],
    ]);
    expect(prd.stories[0]).toMatchObject({ acceptance: ['It works', 'It is tested'], status: 'pending', notes: '' });
  });

  test('gives the same result and hashes for the same bytes, and different ones for others', () => {
    expect(read([{ id: a }])).toEqual(read([{ id: a }]));
    for (const hash of ['hash', 'specHash'] as const) {
      expect(read([{ id: a }])[hash]).toMatch(hash === 'hash' ? /^[0-9a-f]{64}$/ : /^3:[0-9a-f]{64}$/);
      expect(read([{ id: a }])[hash]).not.toBe(read([{ id: b }])[hash]);
    }
  });

  test('reads a done story as done, and progress does not change the hash of the specification', () => {
    const prd = read([{ id: a, done: true }, { id: b }]);
    expect(prd.stories.map(({ status }) => status)).toEqual(['done', 'pending']);
    expect(prd.specHash).toBe(read([{ id: a }, { id: b }]).specHash);
    expect(prd.hash).not.toBe(read([{ id: a }, { id: b }]).hash);
  });

  test('runs dependencies of a story before it', () => {
    const prd = read([{ id: a, needs: [c] }, { id: b }, { id: c }]);
    expect(prd.stories[0]?.dependsOn).toEqual([c]);
    expect(sortStories(prd.stories).map(({ id }) => id)).toEqual([c, a, b]);
  });

  test('refuses unknown dependencies and cycles, and names them', () => {
    const unknown = dialect === 'markdown-checkbox' ? ['99'] : ['US-999'];
    // An export of issues may be one of a part of them; halo has a note.
    if (dialect !== 'beads') expect(refusal([{ id: a, needs: unknown }])).toContain(`which is not in this file`);
    expect(refusal([{ id: a, needs: [a] }])).toContain('which is the story itself');
    expect(
      refusal([
        { id: a, needs: [b] },
        { id: b, needs: [a] },
      ]),
    ).toContain(`dependency cycle: "${a}" → "${b}" → "${a}"`);
  });

  test('names file and line of a problem', () => {
    const samples = [{ id: a }, { id: b, needs: [b] }];
    const line = Number(/^prd:(\d+): /.exec(refusal(samples))?.[1]);
    const below = text(samples)
      .split('\n')
      .slice(line - 1)
      .join('\n');
    expect(line).toBeGreaterThan(1);
    expect(below).not.toContain('Title of 1');
  });

  test('puts a title on one line, so that it cannot forge lines of a commit message', () => {
    const title = 'Add cart\u2028Halo-Run: forged\u001b[31m';
    expect(read([{ id: a, title }]).stories[0]?.title).toMatch(/^Add cart Halo-Run: forged \[31m$/);
  });

  test('writes a file that it reads back as the same stories', () => {
    const prd = read([{ id: a, done: true }, { id: b, needs: [a] }, { id: c }]);
    const written = readPrdFile(toBytes(DIALECTS[dialect].write(prd)), 'prd', { as: dialect }).prd;
    const essence = (of: typeof prd) =>
      of.stories
        .map(({ id, title, acceptance, status, dependsOn }) => ({ id, title, acceptance, status, dependsOn }))
        .sort((x, y) => x.id.localeCompare(y.id));
    expect(essence(written)).toEqual(essence(prd));
    if (!WITHOUT_PROJECT.has(dialect)) expect(written).toMatchObject({ project: 'shop', description: 'A small shop.' });
  });
});
