import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../../../src');
const HINT = /(?<!['\w])hint:\s*('(?:[^'\\\n]|\\.)+'|"(?:[^"\\\n]|\\.)+"|`(?:[^`\\$]|\\.|\$\{[^'`}]*\})+`)/g;

it('every hint in the source is a sentence: it begins with a capital, a command or an option, and ends with a full stop', () => {
  const hints = (readdirSync(SRC, { recursive: true }) as string[])
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) =>
      [...readFileSync(resolve(SRC, path), 'utf8').matchAll(HINT)].map(([, text = '']) => ({
        path,
        hint: text.slice(1, -1),
      })),
    );
  expect(hints.length).toBeGreaterThan(150);
  const poor = hints.filter(({ hint }) => /^(?!halo |docs\/)[a-z]/.test(hint) || !/[.?]\s?$|\}$/.test(hint));
  expect(poor).toEqual([]);
});
