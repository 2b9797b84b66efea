import { describe, expect, test } from 'vitest';
import { parsePrd } from '../../src/prd/parse-prd.ts';
import { toBytes } from '../support/prd/prd-writers.ts';

const read = (text: string) => parsePrd(toBytes(text), 'prd');

const JSON_FILE = `{
  "project": "Shop", "constraints": ["fast"], "metadata": { "updatedAt": "noon" },
  "phases": [{ "name": "One", "goal": "walk", "tasks": [{ "id": 1, "title": "Cart", "files": ["a.ts"], "status": "todo" }] }]
}`;
const MARKDOWN_FILE =
  '# Shop\nSells.\n## One\nWalk.\n### US-1: Cart\n**Files:** a.ts\n**Status:** Open\n**Acceptance:**\n- [ ] adds\n';

describe('the hash of a specification', () => {
  // Another hash for the same file means that halo reads it otherwise: then VERSION has to go up.
  test('stays the same across versions of halo', () => {
    expect([read(JSON_FILE).specHash, read(MARKDOWN_FILE).specHash]).toEqual([
      '3:fa0319ad7a37939b0d159b24f4ec1325ef892af0f69a161d05d72e66075e6994',
      '3:563e032b507854413a62183dc5391ba2dd6ce8b9c86e2c4bd542b973b9aef5ae',
    ]);
  });

  test.each([
    [JSON_FILE, '"todo"', '"done"'],
    [JSON_FILE, '"noon"', '"dusk"'],
    [MARKDOWN_FILE, 'Open', 'Done (in #7)'],
    [MARKDOWN_FILE, '[ ]', '[x]'],
  ])('is the same after progress changes', (text, before, after) => {
    expect(read(text.replace(before, after)).specHash).toBe(read(text).specHash);
  });

  test.each([
    [JSON_FILE, 'fast'],
    [JSON_FILE, 'walk'],
    [JSON_FILE, 'a.ts'],
    [MARKDOWN_FILE, 'Sells'],
    [MARKDOWN_FILE, 'Walk'],
    [MARKDOWN_FILE, 'a.ts'],
  ])('is different after any other change', (text, word) => {
    expect(read(text.replace(word, 'other')).specHash).not.toBe(read(text).specHash);
  });
});
