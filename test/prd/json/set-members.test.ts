import { describe, expect, it } from 'vitest';
import { applyEdits, setMembers } from '../../../src/prd/json/edit-json.ts';
import { parseJsonWithPositions } from '../../../src/prd/json/json-positions.ts';

function set(text: string, values: Record<string, unknown>): string {
  const json = parseJsonWithPositions(text, 'x.json', { problems: [], warnings: [] });
  return applyEdits(text, setMembers(json, values, text));
}

describe('setting members of an object', () => {
  it('replaces existing ones in place, and appends the others in order', () => {
    expect(set('{"a": 1, "b": [2]}', { a: 'x', c: null, d: 4 })).toBe('{"a": "x", "b": [2], "c": null, "d": 4}');
  });

  it('keeps the indentation, also for nested values', () => {
    expect(set('{\n    "a": 1\n}\n', { o: { p: 1, q: [] } })).toBe(
      '{\n    "a": 1,\n    "o": {\n      "p": 1,\n      "q": []\n    }\n}\n',
    );
    expect(set('{\n\t"a":1\n}', { o: { p: 1 } })).toBe('{\n\t"a":1,\n\t"o":{\n\t\t"p": 1\n\t}\n}');
  });

  it('fills an empty object', () => {
    expect(set('{ }', { a: 1, b: { c: 2 } })).toBe('{"a":1,"b":{"c":2}}');
  });
});
