import { expect, test } from 'vitest';
import { orderBatch, type BatchMember } from '../../../src/core/run/batch.ts';

function member(name: string, deps: string[] = [], priority = 0): BatchMember {
  return { name, deps, priority };
}

const namesOf = (members: BatchMember[]) => orderBatch(members).map(({ name }) => name);

test('each repository comes after its dependencies, otherwise in file order', () => {
  expect(namesOf([member('ui', ['api']), member('docs'), member('api', ['core']), member('core')])).toEqual([
    'docs',
    'core',
    'api',
    'ui',
  ]);
});

test('among those that are ready, the smaller priority goes first', () => {
  const members = [member('a', [], 5), member('b', ['a'], -10), member('c', [], 3), member('d', [], 5)];
  expect(namesOf(members)).toEqual(['c', 'a', 'b', 'd']);
});

test('a cycle is refused and shown, without the members that only lead to it', () => {
  const members = [member('start', ['a']), member('a', ['b']), member('b', ['c']), member('c', ['a']), member('free')];
  expect(() => orderBatch(members)).toThrow('a → b → c → a');
  expect(() => orderBatch([member('self', ['self'])])).toThrow('self → self');
});

test('an unknown dependency is refused with the names in the batch', () => {
  const error = expect.objectContaining({
    code: 'USAGE',
    message: '"ui" depends on "apl", which the batch does not have; did you mean "api"?',
    hint: 'Use one of its repositories: ui, api.',
  }) as Error;
  expect(() => orderBatch([member('ui', ['apl']), member('api')])).toThrow(error);
});

test('a duplicate name is refused', () => {
  const refused = { message: 'The repository "api" is named twice.', hint: expect.stringContaining('once') as string };
  expect(() => orderBatch([member('api'), member('api')])).toThrow(expect.objectContaining(refused) as Error);
});
