import { describe, expect, it } from 'vitest';
import { PROGRAM_IDS, TESTED_ON } from '../../../src/core/agent-program.ts';
import { listVersions } from '../../../src/features/versions/core/version-list.ts';

const NEWEST = {
  codex: { version: '0.171.0' },
  claude: { why: 'no network' },
  opencode: { version: '1.18.34' },
  gemini: { version: '0.61.0' },
};
const IMAGE = { codex: '0.169.0', claude: '2.1.330', opencode: '1.18.33', gemini: '0.61.0' };
const list = (more: Partial<Parameters<typeof listVersions>[0]> = {}) =>
  Object.fromEntries(
    listVersions({ ofImage: IMAGE, installed: [], used: new Map(), pinned: {}, newest: NEWEST, ...more }).map(
      (each) => [each.agent, each],
    ),
  );

describe('the versions of agents', () => {
  it('are those of the image unless others are pinned', () => {
    const rows = list();
    expect(Object.keys(rows)).toEqual(PROGRAM_IDS);
    expect(rows['codex']).toMatchObject({
      runs: '0.169.0',
      pinned: false,
      ready: true,
      judged: 'tested',
      newest: { version: '0.171.0' },
    });
    expect(rows['claude']).toMatchObject({ newest: { why: 'no network' }, tested: { on: TESTED_ON } });
  });

  it('stand side by side, the newest first', () => {
    const installed = ['0.99.0', '0.171.0', '0.100.0'].map((version, bytes) => ({
      id: 'codex' as const,
      version,
      bytes,
    }));
    const used = new Map([['r1', ['halo-agent-codex:0.99.0', 'halo-agent-claude:0.171.0']]]);
    const { codex } = list({ installed, used, pinned: { codex: '0.100.0' } });
    expect(codex).toMatchObject({ runs: '0.100.0', pinned: true, ready: true, judged: 'older' });
    expect(codex?.installed).toEqual([
      { version: '0.171.0', bytes: 1, pinned: false, usedBy: [] },
      { version: '0.100.0', bytes: 2, pinned: true, usedBy: [] },
      { version: '0.99.0', bytes: 0, pinned: false, usedBy: ['r1'] },
    ]);
  });

  it('cannot run if one is pinned and not installed, or if there is no image', () => {
    expect(list({ pinned: { codex: '9.9.9' } })['codex']).toMatchObject({
      runs: '9.9.9',
      ready: false,
      judged: 'newer',
    });
    expect(list({ ofImage: {} })['codex']).toMatchObject({ runs: undefined, ready: false, judged: undefined });
  });
});
