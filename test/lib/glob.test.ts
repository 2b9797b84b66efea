import { expect, test } from 'vitest';
import { compileGlobs, compileOwnGlobs } from '../../src/lib/glob.ts';

test.each([
  ['halo.toml', ['halo.toml'], ['sub/halo.toml', 'halo.tomlx', 'halo-toml', 'xhalo.toml']],
  ['*.md', ['a.md', '.md'], ['a/b.md', 'a.mdx']],
  ['.github/**', ['.github/x', '.github/a/b', '.github/'], ['.github', 'a/.github/x', 'xgithub/x']],
  ['**/AGENTS.md', ['AGENTS.md', 'a/AGENTS.md', 'a/b/AGENTS.md'], ['xAGENTS.md', 'AGENTS.md/x']],
  ['a/**/z', ['a/z', 'a/b/z', 'a/b/c/z'], ['az', 'a/bz']],
  ['?.{js,ts}', ['a.js', 'b.ts'], ['ab.js', '/.js', 'a.css']],
  ['{a,b/{c,d}}/x', ['a/x', 'b/c/x', 'b/d/x'], ['b/x', 'c/x']],
  ['a+b(c)[d]^$|\\', ['a+b(c)[d]^$|\\'], ['aab(c)[d]^$|\\']],
  ['a{b', ['a{b'], ['ab']],
  ['**', ['a', 'a/b', 'with\nnewline'], []],
])('%s', (glob, yes, no) => {
  const pattern = compileGlobs([glob]);
  expect(yes.filter((path) => !pattern.test(path))).toEqual([]);
  expect(no.filter((path) => pattern.test(path))).toEqual([]);
  const own = compileOwnGlobs([glob]);
  expect([...yes, ...no].filter((path) => own.test(path))).toEqual(yes);
});

test('a glob of a repository takes no longer than the path times the glob', () => {
  const started = performance.now();
  expect(compileGlobs(['*a*a*a*b']).test('a'.repeat(500))).toBe(false);
  expect(compileGlobs(['**/b']).test('a/'.repeat(20_000))).toBe(false);
  expect(compileGlobs(['a**b']).test('a'.repeat(40_000))).toBe(false);
  expect(performance.now() - started).toBeLessThan(2_000);
});

test('several patterns at the same time', () => {
  const globs = compileGlobs(['a|b', '*.md', 'x/**']);
  expect(['a|b', 'c.md', 'x/y'].filter((path) => !globs.test(path))).toEqual([]);
  expect(['a', 'b', 'x', 'y/c.md'].filter((path) => globs.test(path))).toEqual([]);
  expect(compileGlobs([]).test('')).toBe(false);
});
