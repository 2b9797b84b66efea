import { describe, expect, it } from 'vitest';
import { storyKey } from '../../../src/core/run/story-key.ts';

describe('storyKey', () => {
  it('keeps an id that is already safe', () => {
    expect(storyKey('us-001')).toBe('us-001');
  });

  it.each([
    'US-001',
    '../../etc/passwd',
    '/etc/passwd',
    'a/../../b',
    'CON',
    'nul',
    '~',
    '$(id)',
    'a b',
    'ä',
    '漢字',
    '',
    '-',
    '.',
    '..',
    'a\u0000b',
    'x'.repeat(500),
    'refs/heads/main',
  ])('makes a safe key of %j', (id) => {
    expect(storyKey(id)).toMatch(/^[a-z0-9][a-z0-9-]{0,56}$/);
  });

  it('never gives two ids the same key', () => {
    const ids = [
      'us-1',
      'US-1',
      'us 1',
      'us_1',
      'us--1',
      '-us-1',
      'us-1-',
      `${'x'.repeat(40)}a`,
      `${'x'.repeat(40)}b`,
      'x'.repeat(40),
    ];
    expect(new Set(ids.map(storyKey)).size).toBe(ids.length);
  });
});
