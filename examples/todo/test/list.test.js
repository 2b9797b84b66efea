import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add, format } from '../src/list.js';

test('a new todo goes to the end of the list', () => {
  assert.deepEqual(add([{ text: 'milk' }], ' bread '), [{ text: 'milk' }, { text: 'bread' }]);
});

test('a todo without text is refused', () => {
  assert.throws(() => add([], '  '), /needs a text/);
});

test('todos are shown with their numbers', () => {
  assert.equal(format([{ text: 'milk' }, { text: 'bread' }]), '1. milk\n2. bread');
});
