import { describe, expect, it } from 'vitest';
import { AGENT_PROGRAMS } from '../../../src/core/agent-program.ts';
import { checkVersions } from '../../../src/features/versions/api/check-versions.ts';
import type { SandboxEngine } from '../../../src/sandbox/sandbox.ts';

const [, NEWEST] = AGENT_PROGRAMS.codex.tested;

/** An engine with one further version, whose image prints these paths. */
const engineWith = ({ ofImage = NEWEST, paths = '' } = {}) =>
  ({
    toolVersion: () => Promise.resolve(ofImage),
    agentVersions: () => Promise.resolve([{ id: 'codex', version: '999.0.0' }]),
    start: () =>
      Promise.resolve({
        run: ({ stdout }: { stdout: NodeJS.WritableStream }) => {
          stdout.end(paths);
          return Promise.resolve({ ended: 'exited', exitCode: 0 });
        },
        remove: () => Promise.resolve(),
      }),
  }) as unknown as SandboxEngine;

const CONFIG = { agent: 'codex', otherAgents: {}, agentVersions: {}, image: 'halo-sandbox' };

describe('halo doctor', () => {
  it('says nothing about a tested version in halo’s image', async () => {
    expect(await checkVersions(engineWith(), CONFIG)).toEqual([]);
  });

  it('warns of a version that was not tested', async () => {
    const found = await checkVersions(engineWith(), { ...CONFIG, agentVersions: { codex: '999.0.0' } });
    expect(found).toMatchObject([
      { ok: 'warn', says: expect.stringContaining('Codex 999.0.0 is newer than') as string },
    ]);
    expect(await checkVersions(engineWith({ ofImage: '0.1.0' }), CONFIG)).toMatchObject([
      { ok: 'warn', fix: 'halo agent update codex' },
    ]);
  });

  it('names a chosen version that is not installed, also of an agent that only some stories use', async () => {
    const found = await checkVersions(engineWith(), { ...CONFIG, agentVersions: { claude: '2.1.332' } });
    expect(found).toMatchObject([{ ok: 'fail', fix: 'halo agent update claude --to 2.1.332' }]);
  });

  it('names programs of an own image that halo’s take the place of, and nothing else that the image prints', async () => {
    const paths = '/usr/local/bin/codex\ncodex\n/usr/bin/evil\n';
    const found = await checkVersions(engineWith({ paths }), { ...CONFIG, image: 'shop' });
    expect(found.map(({ says }) => says)).toEqual([
      'the image shop has /usr/local/bin/codex, which halo does not run: it starts its own Codex',
    ]);
  });
});
