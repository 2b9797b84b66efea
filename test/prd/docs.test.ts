import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { convertPrd } from '../../src/prd/convert-prd.ts';
import { readPrdFile } from '../../src/prd/parse-prd.ts';
import { DIALECTS, parseDialectId } from '../../src/prd/dialect-registry.ts';
import { FULL_DIALECTS, toBytes } from '../support/prd/prd-writers.ts';

const DOCS = readFileSync(new URL('../../docs/prd.md', import.meta.url), 'utf8');
const examples = [...DOCS.matchAll(/^### `([\w-]+)`\n\n```(?:json|jsonl|yaml|markdown)\n(.*?)^```$/gms)].map(
  ([, dialect = '', text = '']) => [dialect, text] as const,
);

/** Their files have no place for criteria. */
const WITHOUT_CRITERIA = ['issues', 'linear', 'sprint-status', 'cursor-plan', 'task-index'];

describe('docs/prd.md', () => {
  test('lists every dialect, in the order of detection', () => {
    expect([...DOCS.matchAll(/^\| `([\w-]+)`/gm)].map(([, name]) => name)).toEqual(Object.keys(DIALECTS));
    expect(examples.map(([name]) => name)).toEqual(Object.keys(DIALECTS));
  });

  test.each(examples)('has an example of %s that is read as such, without warnings', (name, text) => {
    const dialect = parseDialectId(name);
    const { prd } = readPrdFile(toBytes(text), name, { as: dialect === 'daedalus' ? dialect : undefined });
    const notes = prd.warnings.filter(
      (text) => !WITHOUT_CRITERIA.includes(name) || !/no acceptance criteria$|^halo does not mark/.test(text),
    );
    expect(prd).toMatchObject({ dialect });
    expect(notes).toEqual(name === 'array' ? [expect.any(String)] : []);
    expect(prd.stories.length).toBeGreaterThan(0);
  });

  test('has an example of a folder, whose text is read without warnings', () => {
    const [, text = ''] = /^## A folder of task files\n.*?^```json\n(.*?)^```$/ms.exec(DOCS) ?? [];
    const { prd, files } = readPrdFile(toBytes(text), 'epics/cart');
    expect(prd).toMatchObject({ dialect: 'task-file', project: 'cart', warnings: [] });
    expect(prd.stories.map(({ id, status, dependsOn }) => [id, status, dependsOn])).toEqual([
      ['001', 'done', []],
      ['002', 'pending', ['001']],
    ]);
    expect(files.map(({ name }) => name)).toEqual(['001.md', '002.md', 'epic.md']);
  });

  test('has an example of epics with their states, which is read without warnings', () => {
    const [, text = ''] = /^## Epics of BMAD with their states\n.*?^```json\n(.*?)^```$/ms.exec(DOCS) ?? [];
    const { prd } = readPrdFile(toBytes(text), '_bmad-output');
    expect(prd).toMatchObject({ dialect: 'markdown-stories', project: 'shop', warnings: [] });
    expect(prd.stories.map(({ id, status, dependsOn }) => [id, status, dependsOn])).toEqual([
      ['story-1.1', 'done', []],
      ['story-1.2', 'pending', ['story-1.1']],
    ]);
  });

  test.each(examples)('has an example of %s that can be written in every other dialect', (_name, text) => {
    const { stories } = readPrdFile(toBytes(text), 'prd').prd;
    // hanuman wants criteria for each story.
    const isFull = stories.every(({ acceptance }) => acceptance.length > 0);
    for (const to of FULL_DIALECTS.filter((each) => isFull || each !== 'hanuman')) {
      expect(convertPrd(toBytes(text), 'prd', parseDialectId(to)).text).toContain('cart');
    }
  });
});
