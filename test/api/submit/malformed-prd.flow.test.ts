import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLocal } from '../../../src/api/local.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { scripted } from '../../support/halo/halo.ts';
import { expectNoLeftovers } from '../../support/halo/refusal.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import fc from '../../support/fast-check.ts';

const PATH = '/somewhere/prd.json';

let home: string;
let operations: Operations;
let repository: TestRepository;
beforeAll(() => {
  home = tempDir('halo-malformed');
  operations = openLocal({ host: hostOf(home) });
  repository = newRepository();
});
afterAll(async () => {
  await operations.close();
});

function submit(text: string | Uint8Array): Promise<unknown> {
  return operations
    .submit({
      prd: { path: PATH, bytes: Buffer.from(text) },
      repos: [repository.root],
      profile: undefined,
      set: scripted('true'),
      allowDirty: false,
    })
    .then(({ runs }) => runs);
}

async function expectRefused(text: string | Uint8Array, ...says: string[]): Promise<void> {
  const refusal: unknown = await submit(text).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'PRD_INVALID', hint: expect.stringMatching(/\S/) as string });
  for (const each of says) expect((refusal as Error).message).toContain(each);
  await expectNoLeftovers(home);
}

function ralph(...stories: object[]): string {
  const whole = stories.map((story) => ({ title: 'x', acceptanceCriteria: ['y'], ...story }));
  return JSON.stringify({ userStories: whole }, null, 1);
}

describe('hazard 29: a malformed PRD is refused with its location, and nothing is queued:', () => {
  it.each([
    [
      'A needs B',
      [
        { id: 'A', dependsOn: ['B'] },
        { id: 'B', dependsOn: ['A'] },
      ],
      ':3: ',
      '"A" → "B" → "A"',
    ],
    ['A needs itself', [{ id: 'A', dependsOn: ['A'] }], ':10: ', '"A" depends on "A", which is the story itself'],
    ['A needs what is not there', [{ id: 'A', dependsOn: ['Z'] }], ':10: ', '"Z", which is not in this file'],
    ['two are A', [{ id: 'A' }, { id: 'A' }], ':10: ', 'the id "A" is already used by userStories[0]'],
  ])('%s', async (_what, stories, place, says) => {
    await expectRefused(ralph(...stories), `${PATH}${place}`, says);
  });

  it('a dependency cycle in Markdown', async () => {
    const text = '- [ ] 1. a (depends on: 2)\n- [ ] 2. b (depends on: 1)\n';
    await expectRefused(text, `${PATH}:1: `, '"1" → "2" → "1"');
  });

  it('10 MB of any content', async () => {
    const whole = ralph({ id: 'A', notes: 'x'.repeat(10 * 1024 * 1024) });
    for (const text of [whole, Buffer.alloc(10 * 1024 * 1024)]) await expectRefused(text, PATH, 'the limit is 4194304');
  });

  it.each([
    ['a wrong byte', [0x7b, 0x0a, 0xff, 0x7d], ':2: The text is not UTF-8: byte 0xff at offset 2'],
    ['a cut letter', [0x7b, 0x7d, 0xc3], ':1: The text is not UTF-8: byte 0xc3 at offset 2'],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00], ':1: The text is not UTF-8: byte 0xff at offset 0'],
    ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22], ':1: The text is not UTF-8: byte 0xed at offset 1'],
  ])('bytes that are not text: %s', async (_what, bytes, says) => {
    await expectRefused(Uint8Array.from(bytes), `${PATH}${says}`);
  });

  it('YAML with aliases, which are not expanded', async () => {
    const levels = [...'bcdefghij'].map((name, index) => {
      const before = String.fromCharCode('a'.charCodeAt(0) + index);
      return `${name}: &${name} [${Array(10).fill(`*${before}`).join(', ')}]`;
    });
    await expectRefused(
      `a: &a [x, x]\n${levels.join('\n')}\nuserStories: *j\n`,
      `${PATH}:1:1: The text is not valid JSON`,
    );
    await expectRefused(
      'userStories:\n  - &one\n    id: A\n  - *one\n',
      `${PATH}: The file is in no known PRD dialect`,
    );
  });

  it('other damage in a file', async () => {
    const good = ralph({ id: 'A' }, { id: 'B', dependsOn: ['A'] });
    const cut = fc.integer({ min: 1, max: good.length - 2 }).map((at) => good.slice(0, at));
    const stray = fc
      .tuple(fc.integer({ min: 1, max: good.length - 1 }), fc.constantFrom('\u0000', '}', '"\n', '\\', ',,', '//', "'"))
      .map(([at, text]) => `${good.slice(0, at)}${text}${good.slice(at)}`);
    const bytes = fc.uint8Array({ maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(fc.oneof(cut, stray, bytes), async (text) => {
        const outcome: unknown = await submit(text).catch((error: unknown) => error);
        if (!Array.isArray(outcome))
          expect(outcome).toMatchObject({ code: 'PRD_INVALID', message: expect.stringContaining(PATH) as string });
      }),
      { numRuns: 150 },
    );
  });
});
