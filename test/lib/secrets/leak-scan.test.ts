import { describe, expect, it } from 'vitest';
import { compileAllowed } from '../../../src/lib/secrets/allowed-rules.ts';
import { isSearched, NOT_SEARCHED, openLeakScan } from '../../../src/lib/secrets/leak-scan.ts';

// In parts, so that scanners of repositories do not take this file for a leak.
const KEY = ['q7Zr2', 'XbN9w', 'Lp4Vt', 'Hs8Kd'].join('');
const SENDGRID = ['SG', 'ngeVfQFYQlKU0ufo8x5d1A', 'TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr'].join('.');

function scan(text: string, { pieces = 1, bytes = 1e9 } = {}) {
  const scanning = openLeakScan({ bytes });
  const buffer = Buffer.from(text);
  const size = Math.ceil(buffer.length / pieces);
  for (let at = 0; at < buffer.length; at += size) scanning.push(buffer.subarray(at, at + size));
  return scanning.end();
}

describe('the search for possible secrets', () => {
  it.each([
    ['a value beside a word for secrets', `const apiKey = "${KEY}";`, 'generic-api-key', KEY],
    ['in any case of the word', `DB_PASSWORD: '${KEY}'`, 'generic-api-key', KEY],
    ['on the line after the word', `password =\n"${KEY}"\n`, 'generic-api-key', KEY],
    ['a token of a service', `send("${SENDGRID}")`, 'sendgrid-api-token', SENDGRID],
    [
      'a header of curl some lines below it',
      `curl https://a.example \\\n  -X POST \\\n  -H "Authorization: Bearer ${KEY}"\n`,
      'curl-auth-header',
      KEY,
    ],
  ])('finds %s', (_what, text, rule, secret) => {
    const far = `${'a line without anything\n'.repeat(4000)}${text}\n`;
    for (const whole of [text, far])
      for (const pieces of [1, 7]) expect(scan(whole, { pieces })).toContainEqual({ rule, secret });
  });

  it.each([
    ['a variable', 'apiKey = process.env.API_KEY;'],
    ['a name', 'const accessToken = readTheAccessToken();'],
    ['a placeholder', 'password: ${DATABASE_PASSWORD}'],
    ['a text with little entropy', 'apiKey = "aaaaaaaaaaaaaaaaaaab1"'],
    ['a word of examples', `apiKey = "example-${KEY}"`],
    ['a text beside another word', `const size = "${KEY}";`],
  ])('does not find %s', (_what, text) => {
    expect(scan(text)).toEqual([]);
  });

  it('finds the same secrets wherever the pieces and blocks of a file end', () => {
    const text = Array.from({ length: 600 }, (_, line) => `token_${line} = "${KEY}${line}";`).join('\n');
    const all = scan(text);
    expect(all).toHaveLength(600);
    for (const pieces of [2, 3, 50]) expect(scan(text, { pieces })).toEqual(all);
  });

  it('finds one in a line of megabytes', () => {
    const text = `${'x = 1; '.repeat(200_000)}apiKey = "${KEY}"; ${'y = 2; '.repeat(200_000)}`;
    expect(scan(text)).toEqual([{ rule: 'generic-api-key', secret: KEY }]);
  });

  it('reads each part of a long line once, whatever its pieces', () => {
    const budget = { bytes: 100_000 };
    const scanning = openLeakScan(budget);
    scanning.push(Buffer.from(`apiKey = "${KEY}"; `));
    for (let piece = 0; piece < 200; piece++) scanning.push(Buffer.alloc(64 * 1024));
    expect(scanning.end()).toEqual([{ rule: 'generic-api-key', secret: KEY }]);
    expect(budget.bytes).toBeGreaterThan(90_000);
  });

  it('says so when a file has more text to read than it may', () => {
    const hostile = `token key sk_ ${'secret '.repeat(10)}\n`.repeat(2000);
    expect(scan(hostile, { bytes: 100_000 })).toEqual([{ rule: NOT_SEARCHED, secret: '' }]);
  });
});

describe('a rule for possible secrets', () => {
  it.each([
    ['generic-api-key', 'src/config.ts', true],
    ['generic-api-key', 'package-lock.json', false],
    ['generic-api-key', 'docs/picture.svg', false],
    ['nuget-config-password', 'nuget.config', true],
    ['nuget-config-password', 'src/config.ts', false],
  ])('%s reads %s: %s', (rule, path, expected) => {
    expect(isSearched(rule, path)).toBe(expected);
  });

  it.each([
    ['generic-api-key', 'generic-api-key', 'a/b.ts', true],
    ['generic-api-key:test/**', 'generic-api-key', 'test/a.ts', true],
    ['generic-api-key:test/**', 'generic-api-key', 'src/test/a.ts', false],
    ['generic-api-key:test/**', 'jwt', 'test/a.ts', false],
  ])('with `secrets.allow = ["%s"]`, %s in %s does not count: %s', (entry, rule, path, expected) => {
    expect(compileAllowed([entry])(rule, path)).toBe(expected);
  });
});
