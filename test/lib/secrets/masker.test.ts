import { describe, expect, it, test } from 'vitest';
import { ENCODERS } from '../../support/text/encoders.ts';
import { TOKEN_PATTERNS } from '../../../src/lib/secrets/token-patterns.ts';
import { openMasker, type Masker } from '../../../src/lib/secrets/masker.ts';
import fc from '../../support/fast-check.ts';

const SECRET = 'p"a$s&w\'or<d/0123+4567 \\x';

function knowing(...secrets: string[]): Masker {
  const masker = openMasker();
  masker.learn(secrets);
  return masker;
}

/** What a stream gives that gets the text in pieces that end at `cuts`. */
function inPieces(masker: Masker, text: string, cuts: number[]): string {
  const cleaner = masker.cleaner();
  const bytes = Buffer.from(text);
  const out: Buffer[] = [];
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    out.push(cleaner.push(bytes.subarray(from, cut)));
    from = Math.max(from, cut);
  }
  out.push(cleaner.push(bytes.subarray(from)), cleaner.end());
  return Buffer.concat(out).toString();
}

const wrapAt = (columns: number) => (text: string) => text.match(new RegExp(`.{1,${columns}}`, 'gs'))?.join('\n') ?? '';

describe('a secret', () => {
  test.each(ENCODERS)('is masked in the form %s, at any split of the text', (_name, encode) => {
    const masker = knowing(SECRET);
    const text = `before ${encode(SECRET)} after\n`;
    const whole = masker.text(text);
    expect(whole).not.toBe(text);
    expect(whole).toMatch(/^before .* after\n$/);
    // Of base64 the characters at both ends also stand for what is beside the secret.
    expect(whole.replace(/[^*]/g, '').length).toBeGreaterThan(encode(SECRET).length * 0.8);
    for (let cut = 0; cut <= text.length; cut++) expect(inPieces(masker, text, [cut])).toBe(whole);
    expect(
      inPieces(
        masker,
        text,
        [...text].map((_, index) => index),
      ),
    ).toBe(whole);
  });

  test.each([76, 64, 20])('is masked when base64 is wrapped after %i characters', (columns) => {
    const long = `sk-${'0123456789abcdef'.repeat(10)}`;
    const encoded = wrapAt(columns)(Buffer.from(`token: ${long}\n`).toString('base64'));
    for (const text of [encoded, encoded.replaceAll('\n', '\r\n'), JSON.stringify({ output: encoded })]) {
      const masked = knowing(long).text(text);
      expect(masked.replace(/\\n|\s/g, '')).toMatch(/^[^*]*\*{200,}[^*]*$/);
      expect(masked.split('\n')).toHaveLength(text.split('\n').length);
    }
  });

  it('a secret of several lines is masked as a whole and line by line', () => {
    const key = [
      '-----BEGIN THING-----',
      'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=',
      'MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5',
      '-----END THING-----',
    ];
    const masker = knowing(`${key.join('\n')}\n`);
    expect(masker.text(`x ${key[2]} y`)).toBe(`x ${'*'.repeat(40)} y`);
    expect(masker.text(key.join('\r\n'))).toMatch(/^[*\r\n]+$/);
    expect(masker.text(key[0]!)).toBe(key[0]);
  });

  it('is masked beside another one with the same prefix, and inside other words', () => {
    const masker = knowing('abcdefgh', 'abcdefghijkl', 'fghijklmno');
    expect(masker.text('xabcdefghijklmnox')).toBe(`x${'*'.repeat(15)}x`);
  });

  it('is absent: text stays unchanged, to the byte', () => {
    const masker = knowing(SECRET);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.array(fc.nat(400)), (bytes, cuts) => {
        const cleaner = masker.cleaner();
        const parts = cuts
          .sort((a, b) => a - b)
          .map((cut, index) => Buffer.from(bytes.subarray(cuts[index - 1] ?? 0, cut)));
        const rest = Buffer.from(bytes.subarray(cuts.at(-1) ?? 0));
        const out = Buffer.concat([...[...parts, rest].map(cleaner.push), cleaner.end()]);
        expect(out.equals(Buffer.from(bytes))).toBe(true);
      }),
    );
  });

  it('is not masked if it is too short', () => {
    expect(knowing('a', '', 'true').text('a is true')).toBe('a is true');
  });

  it('is found among many others in random text, at any split of the stream', () => {
    const secrets = Array.from(
      { length: 40 },
      (_, index) => `secret-${index}-${Buffer.from(`${index * 7919}`).toString('hex')}`,
    );
    const masker = knowing(...secrets);
    const piece = fc.oneof(fc.constantFrom(...secrets), fc.string({ maxLength: 30 }), fc.constant('\n'));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.array(fc.nat(1000)), (pieces, cuts) => {
        const out = inPieces(masker, pieces.join('|'), cuts);
        for (const secret of secrets) expect(out).not.toContain(secret);
      }),
    );
  });
});

/** Of a token: some services have one length only. */
function lengthOf(beginning: string): number | undefined {
  const exact = new Map([
    ['AKIA', 20],
    ['ASIA', 20],
    ['AIza', 39],
    ['npm_', 40],
  ]);
  return exact.get(beginning);
}

describe('text that looks like a secret', () => {
  test.each([
    'sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-AA',
    'sk-proj-0123456789abcdefghijklmnopqrstuvwxyz',
    `ghp_${'a1B2'.repeat(9)}`,
    `github_pat_${'a1B2'.repeat(9)}`,
    'glpat-0123456789abcdefghij',
    'AKIAIOSFODNN7EXAMPLE',
    'xoxb-123456789012-abcdefghijkl',
    `AIza${'a1B2c'.repeat(7)}`,
    `npm_${'a1B2'.repeat(9)}`,
    `pypi-${'a1B2'.repeat(15)}`,
    `halo_a1b2c3d4_${'a1B2'.repeat(11)}`,
    `rk_test_${'a1B2'.repeat(6)}`,
    `sk_live_${'a1B2'.repeat(6)}`,
  ])('masks %s in a stream cut at any byte', (token) => {
    const masker = openMasker();
    const text = `export TOKEN="${token}"\nnext\n`;
    const whole = `export TOKEN="${'*'.repeat(token.length)}"\nnext\n`;
    expect(masker.text(text)).toBe(whole);
    for (let cut = 0; cut <= text.length; cut++) expect(inPieces(masker, text, [cut])).toBe(whole);
  });

  it.each(TOKEN_PATTERNS.flatMap(({ beginnings }) => beginnings))(
    'a token that begins with %s is masked wherever a text holds it, and no other byte',
    (beginning) => {
      const token = `${beginning}${beginning === 'halo_' ? 'a1b2c3d4_' : ''}${'A1B2'.repeat(14)}`.slice(
        0,
        lengthOf(beginning),
      );
      for (let before = 0; before <= 150; before += 1) {
        const [head, tail] = ['a-b '.repeat(40).slice(160 - before), ' c_d'.repeat(20)];
        expect(openMasker().text(`${head}${token}${tail}`)).toBe(`${head}${'*'.repeat(token.length)}${tail}`);
      }
    },
  );

  test.each([
    'sk-fading-circle-before-animation',
    'the task-0123456789-abcdefghijklmnopq is done',
    'risk-1234567890-assessment-of-things',
    'https://example.com/AKIAxyz',
    '-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----',
  ])('leaves %j unmasked', (text) => expect(openMasker().text(text)).toBe(text));

  it('a private key is masked between its first and its last line', () => {
    const body = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n';
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${body}-----END RSA PRIVATE KEY-----\n`;
    const masked = key.replace(body, `${'*'.repeat(32)}\n${'*'.repeat(32)}\n`);
    for (let cut = 0; cut <= key.length; cut++)
      expect(inPieces(openMasker(), `a\n${key}b\n`, [cut])).toBe(`a\n${masked}b\n`);
    expect(openMasker().text(JSON.stringify(key))).not.toContain('MIIE');
  });

  it('the missing end of a private key masks no more than a key contains', () => {
    const lines = 'a line of a log\n'.repeat(10_000);
    const masked = inPieces(openMasker(), `-----BEGIN PRIVATE KEY-----\n${lines}`, [1000, 70_000, 140_000]);
    expect(masked.endsWith('a line of a log\n'.repeat(1000))).toBe(true);
  });

  it('a token that is longer than any line is masked to its end', () => {
    const token = `sk-${'a1b2c3d4'.repeat(40_000)}`;
    const cuts = Array.from({ length: 40 }, (_, index) => index * 9_000);
    const masked = inPieces(openMasker(), `${token} and more\n`, cuts);
    expect(masked).toBe(`${'*'.repeat(token.length)} and more\n`);
  });
});

describe('a pattern of the user’s', () => {
  it('is masked within a line, beside characters of any length', () => {
    const masker = openMasker();
    masker.learnPatterns(['corp-[0-9]{4,}']);
    const text = 'größe 🙂 corp-123456 ok\ncorp-12 corp-9999\n';
    expect(masker.text(text)).toBe('größe 🙂 *********** ok\ncorp-12 *********\n');
    for (let cut = 0; cut <= Buffer.byteLength(text); cut++)
      expect(inPieces(masker, text, [cut])).toBe(masker.text(text));
  });

  it('is refused if it matches the empty text or is invalid', () => {
    expect(() => openMasker().learnPatterns(['a*'])).toThrow('matches the empty text');
    expect(() => openMasker().learnPatterns(['('])).toThrow('missing closing )');
    expect(() => openMasker().learnPatterns(['(a)\\1'])).toThrow('invalid escape sequence');
  });
});

describe('values and scans', () => {
  it('masks every string of a value, but not below the keys that are excepted', () => {
    const masker = knowing('hunter2hunter2');
    const value = { id: 'hunter2hunter2', list: [{ text: 'x hunter2hunter2' }], n: 1, none: undefined };
    expect(masker.value(value, new Set(['id']))).toEqual({
      id: 'hunter2hunter2',
      list: [{ text: `x ${'*'.repeat(14)}` }],
      n: 1,
      none: undefined,
    });
  });

  it('detects secrets in bytes and distinguishes tokens', () => {
    const masker = knowing('hunter2hunter2');
    const scan = masker.scan();
    scan.push(Buffer.from('AKIAIOSFODNN7EXAMPLE hunt'));
    scan.push(Buffer.from('er2hunter2 AKIAIOSFODNN7EXAMPLE AKIAIOSFODNN8EXAMPLE\n'));
    expect(
      scan
        .end()
        .map(({ kind }) => kind)
        .sort(),
    ).toEqual(['known', 'shape', 'shape']);
  });
});
