import { expect, test } from 'vitest';
import { findCredentials, stripCredentials } from '../../../src/core/text/address-credentials.ts';

test.each([
  ['http://u:p@h/x', 'http://h/x', ['p']],
  ['--repo=https://token@h:8080/x.git', '--repo=https://h:8080/x.git', ['token']],
  ['-c env.DB=postgres://u:p%40ss@h/db?a=b@c', '-c env.DB=postgres://h/db?a=b@c', ['p%40ss', 'p@ss']],
  ['two http://a:b@h and ssh://git:c@h/x', 'two http://h and ssh://h/x', ['b', 'c']],
  ['http://u:p@ss@h/x', 'http://h/x', ['p@ss']],
  ['http://u:pa/ss@h/x', 'http://h/x', ['pa/ss']],
  ['http://u:12/ss@h/x', 'http://u:12/ss@h/x', []],
  ['https://h:8080/@scope/pkg', 'https://h:8080/@scope/pkg', []],
  ['http://[::1]:80/@scope', 'http://[::1]:80/@scope', []],
  ['git@h:x/y.git and a@b.example', 'git@h:x/y.git and a@b.example', []],
  ['http://u:%zz@h', 'http://h', ['%zz']],
])('%s', (text, without, secrets) => {
  expect(stripCredentials(text)).toBe(without);
  expect(findCredentials(text)).toEqual(secrets);
});

test('takes linear time', () => {
  const text = '://a:b'.repeat(100_000);
  expect(stripCredentials(`${text}@`).length).toBeLessThanOrEqual(text.length + 1);
});
