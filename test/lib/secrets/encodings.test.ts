import { expect, test } from 'vitest';
import { secretEncodings } from '../../../src/lib/secrets/encodings.ts';

const SECRET = 'sk-canary/0123+"4567';

test.each([
  ['itself', (text: string) => text],
  ['hex', (text: string) => Buffer.from(text).toString('hex')],
  ['hex in capitals', (text: string) => Buffer.from(text).toString('hex').toUpperCase()],
  ['a URL', encodeURIComponent],
  ['JSON', JSON.stringify],
  ...[0, 1, 2, 3].flatMap((shift): [string, (text: string) => string][] => [
    [`base64 after ${shift} bytes`, (text) => Buffer.from(`${'x'.repeat(shift)}${text}yy`).toString('base64')],
    [`base64url after ${shift} bytes`, (text) => Buffer.from(`${'x'.repeat(shift)}${text}yy`).toString('base64url')],
  ]),
])('a secret is found in %s', (_name, encode) => {
  expect(secretEncodings(SECRET).some((form) => encode(SECRET).includes(form))).toBe(true);
});

test('forms too short to be masked are omitted, and an empty secret has no forms', () => {
  expect(secretEncodings('ab')).toEqual(['ab']);
  expect(secretEncodings('')).toEqual([]);
});
