import { describe, expect, it } from 'vitest';
import { findPushTarget } from '../../../src/core/pulls/forge-project.ts';

const APIS = {
  github: 'https://api.github.com',
  gitea: 'https://git.example.com/api/v1',
  gitlab: 'https://lab.example.com/api/v4',
};

describe('the project of a remote', () => {
  it.each([
    ['https://github.com/acme/shop.git', 'github', 'acme/shop', 'https://github.com/acme/shop.git'],
    ['git@github.com:acme/shop.git', 'github', 'acme/shop', 'https://github.com/acme/shop.git'],
    ['ssh://git@git.example.com:2222/acme/shop', 'gitea', 'acme/shop', 'https://git.example.com/acme/shop.git'],
    ['https://lab.example.com/a/b/c.git', 'gitlab', 'a/b/c', 'https://lab.example.com/a/b/c.git'],
  ])('%s is of %s', (remote, forge, project, url) => {
    expect(findPushTarget(remote, APIS)).toEqual({ forge, project, url });
  });

  it('is that of GitHub Enterprise if its API is configured', () => {
    const apis = { github: 'https://ghe.example.com/api/v3' };
    expect(findPushTarget('git@ghe.example.com:acme/shop.git', apis)).toMatchObject({ forge: 'github' });
    expect(findPushTarget('git@github.com:acme/shop.git', apis)).toBeUndefined();
  });

  it.each([
    '/srv/git/shop.git',
    'https://other.example.com/acme/shop.git',
    'https://github.com.evil.example/acme/shop.git',
    'https://github.com/acme/../shop.git',
    'https://github.com/acme',
    'https://git.example.com/acme/shop/more',
    'file:///srv/shop.git',
    'https://github.com/acme/sh%2fop',
  ])('is unknown for %s', (remote) => {
    expect(findPushTarget(remote, APIS)).toBeUndefined();
  });
});
