import { describe, expect, it } from 'vitest';
import { lastErrorLine } from '../../../src/git/process/git-output.ts';

describe('the reason of git', () => {
  it.each([
    [
      'remote: fatal: unable to read 3e2f\nremote: aborting due to possible repository corruption on the remote side.\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output\n',
      'remote: fatal: unable to read 3e2f',
    ],
    [
      'fatal: git upload-pack: aborting due to possible repository corruption on the remote side.\nfatal: protocol error: bad pack header\n',
      'fatal: protocol error: bad pack header',
    ],
    [
      "fatal: '/srv/x' does not appear to be a git repository\nfatal: Could not read from remote repository.\n",
      "fatal: '/srv/x' does not appear to be a git repository",
    ],
    ['error: first\nfatal: last\nhint: try it\n', 'fatal: last'],
    ['fatal: early EOF\n', 'fatal: early EOF'],
    ['something else\n', 'something else'],
    ['', undefined],
  ])('%j is %j', (stderr, expected) => expect(lastErrorLine(stderr)).toBe(expected));
});
