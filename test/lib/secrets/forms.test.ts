import { expect, test } from 'vitest';
import { secretForms } from '../../../src/lib/secrets/encodings.ts';

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
  expect(secretForms(SECRET).some((form) => encode(SECRET).includes(form))).toBe(true);
});

test('short forms, which would hide what is no secret, are left out, and an empty secret has none', () => {
  expect(secretForms('ab')).toEqual(['ab']);
  expect(secretForms('')).toEqual([]);
});
