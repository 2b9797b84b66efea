import { describe, expect, it } from 'vitest';
import {
  AGENT_PROGRAMS,
  compareVersions,
  EXACT_VERSION,
  isProgramId,
  judgeVersion,
  PROGRAM_IDS,
  programCommand,
  programPath,
  testedRange,
} from '../../src/core/agent-program.ts';

describe('compareVersions', () => {
  it.each([
    ['1.2.3', '1.2.3', 0],
    ['1.2.10', '1.2.9', 1],
    ['0.169.0', '0.171.0', -1],
    ['2.0.0', '1.99.99', 1],
    ['1.2.3-beta.1', '1.2.3', -1],
    ['1.2.3-beta.1', '1.2.3-beta.2', -1],
  ])('puts %s and %s in order', (a, b, order) => {
    expect(Math.sign(compareVersions(a, b))).toBe(order);
    expect(Math.sign(compareVersions(b, a))).toBe(0 - order);
  });
});

describe('the tested versions', () => {
  it.each(PROGRAM_IDS)('of %s are a range', (id) => {
    const [oldest, newest] = AGENT_PROGRAMS[id].tested;
    expect(compareVersions(oldest, newest)).toBeLessThanOrEqual(0);
    expect([oldest, newest].map((version) => judgeVersion(id, version))).toEqual(['tested', 'tested']);
    expect(judgeVersion(id, '0.0.1')).toBe('older');
    expect(judgeVersion(id, '999.0.0')).toBe('newer');
    expect(testedRange(id)).toContain(newest);
  });
});

describe('the program of an agent', () => {
  it('is in the folder of the image, or where another version is mounted', () => {
    expect(programPath('codex')).toBe('/opt/halo/agents/codex/bin/codex');
    expect(programPath('codex', '1.2.3')).toBe('/halo/agent/bin/codex');
  });

  it('is started by the Node of the image if it needs one', () => {
    expect(programCommand('gemini', '1.2.3')).toBe('/opt/halo/agents/node/bin/node /halo/agent/bundle/gemini.js');
  });

  it.each(['command', 'acp', 'qwen', 'constructor'])('is none of halo’s for %s', (name) => {
    expect(isProgramId(name)).toBe(false);
  });
});

describe('a version', () => {
  it.each(['0.171.0', '1.2.3-beta.1'])('can be %s', (version) => {
    expect(version).toMatch(EXACT_VERSION);
  });

  it.each(['latest', '1.2', '^1.2.3', '1.2.3 || rm', '1.2.3-', '1.2.3/../x', '01234567.1.1', '1.2.3\n'])(
    'cannot be %j',
    (version) => {
      expect(version).not.toMatch(EXACT_VERSION);
    },
  );
});
