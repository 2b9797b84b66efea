import { describe, expect, it } from 'vitest';
import { findPushTarget, repositoriesUrl } from '../../../src/core/pulls/forge-project.ts';

const FORGES = {
  github: 'https://github.com',
  gitea: 'https://git.example.com',
  gitlab: 'https://lab.example.com/git/',
};

describe('the project of a remote', () => {
  it.each([
    ['https://github.com/acme/shop.git', 'github', 'acme/shop', 'https://github.com/acme/shop.git'],
    ['git@github.com:acme/shop.git', 'github', 'acme/shop', 'https://github.com/acme/shop.git'],
    ['ssh://git@git.example.com:2222/acme/shop', 'gitea', 'acme/shop', 'https://git.example.com/acme/shop.git'],
    ['https://lab.example.com/git/a/b/c', 'gitlab', 'a/b/c', 'https://lab.example.com/git/a/b/c.git'],
  ])('%s is of %s', (remote, forge, project, url) => {
    expect(findPushTarget(remote, FORGES)).toEqual({ forge, project, url });
  });

  it('is that of GitHub Enterprise if its API is configured', () => {
    const forges = { github: 'https://ghe.example.com' };
    expect(findPushTarget('git@ghe.example.com:acme/shop.git', forges)).toMatchObject({ forge: 'github' });
    expect(findPushTarget('git@github.com:acme/shop.git', forges)).toBeUndefined();
  });

  it.each([
    ['github', 'https://api.github.com', 'https://github.com'],
    ['github', 'https://api.octocorp.ghe.com', 'https://octocorp.ghe.com'],
    ['github', 'https://ghe.example.com/api/v3', 'https://ghe.example.com'],
    ['gitlab', 'https://gitlab.com/api/v4', 'https://gitlab.com'],
    ['gitlab', 'https://example.com:8443/gitlab/api/v4/', 'https://example.com:8443/gitlab'],
    ['gitea', 'http://127.0.0.1:3000/api/v1', 'http://127.0.0.1:3000'],
  ] as const)('%s with the API %s has its repositories at %s', (forge, api, url) => {
    expect(repositoriesUrl(forge, api)).toBe(url);
  });

  it.each([
    '/srv/git/shop.git',
    'https://other.example.com/acme/shop.git',
    'https://github.com.evil.example/acme/shop.git',
    'https://github.com/acme/../shop.git',
    'https://github.com/acme',
    'http://github.com/acme/shop.git',
    'https://github.com:8443/acme/shop.git',
    'https://lab.example.com/acme/shop.git',
    'https://git.example.com/acme/shop/more',
    'file:///srv/shop.git',
    'https://github.com/acme/sh%2fop',
  ])('is unknown for %s', (remote) => {
    expect(findPushTarget(remote, FORGES)).toBeUndefined();
  });
});
