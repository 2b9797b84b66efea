import { describe, expect, it } from 'vitest';
import { parseConfigFile } from '../../src/config/load.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import { findProtected } from '../../src/git/protected-paths.ts';

/** Text and files made to keep a worker or a server busy, or to fill its memory. Nothing here needs a container. */

describe('incident slow-globs: globs of a repository that take for ever to match', () => {
  const deep = `${'a/'.repeat(30)}b`;
  const slow = [
    `${'**/'.repeat(24)}c`,
    `${'**/'.repeat(60)}c`,
    `${'**'.repeat(60)}c`,
    `${'*a'.repeat(90)}c`,
    `${'{a,a/}'.repeat(30)}c`,
    `${'{**/,}'.repeat(30)}c`,
  ];

  it.each(slow)('are matched in linear time: %s', async (glob) => {
    expect(await findProtected([deep, 'a'.repeat(4000), `${deep}/halo.toml`, 'db/c'], [glob, 'db/**'])).toEqual([
      'db/c',
    ]);
  });

  it('are limited in number and length, those of several files together, too', () => {
    const file = (protect: string[]) => parseConfigFile('/x.toml', `land.protect = ${JSON.stringify(protect)}`);
    const refused = (repo: string[], home: string[] = []) =>
      expect(() => resolveConfig({ home: file(home), repo: file(repo), cwd: '/' }));
    const many = Array.from({ length: 60 }, () => 'a');
    refused([...many, ...many]).toThrow('land.protect: must be at most 100 globs');
    refused(many, many).toThrow('land.protect: must be at most 100 globs');
    refused(['a'.repeat(201)]).toThrow('must be at most 200 characters long');
    refused(Array.from({ length: 21 }, () => 'a'.repeat(200))).toThrow('4000 characters together');
  });
});
