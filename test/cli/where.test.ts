import { describe, expect, it } from 'vitest';
import { HaloError } from '../../src/core/failure/errors.ts';
import { runCli } from '../support/terminal/cli-world.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openMemory } from '../support/memory-operations.ts';

/** What a command does later does not matter here. */
const fail = () => Promise.reject(new HaloError('USAGE', 'Stopped by the test.'));

const SERVER = 'http://halo.test:7070';

async function halo(words: string[], apiUrl: string | undefined, shown = false) {
  const services = {
    readHost: () => Promise.resolve({ home: '/halo', redisUrl: undefined, apiUrl, apiToken: undefined }),
    diagnose: () => Promise.resolve([]),
    check: fail,
  };
  return runCli(words, { operations: openMemory(), services, cwd: tempDir(), terminal: { shown } });
}

describe('with HALO_URL set, a command names the machine that it uses', () => {
  it.each([
    ['doctor', ['doctor']],
    ['agent pin', ['agent', 'pin', 'codex', 'latest']],
    ['config show', ['config', 'show']],
    ['check', ['check']],
    ['new', ['new', 'shop']],
    ['snapshot build', ['snapshot', 'build']],
  ])('halo %s: this one', async (name, words) => {
    const says = `on this machine: \`halo ${name}\` does not use the server ${SERVER} (HALO_URL)\n`;
    expect((await halo(words, 'http://ann:secret@halo.test:7070/')).stderr.startsWith(says)).toBe(true);
    expect((await halo(words, undefined)).stderr).not.toContain('machine');
  });

  it('halo prd list: both', async () => {
    expect((await halo(['prd', 'list'], SERVER)).stderr).toContain(
      `PRDs of this machine, runs of the server ${SERVER} (HALO_URL)`,
    );
  });

  it('halo ls: the server, at a terminal', async () => {
    expect((await halo(['ls'], SERVER, true)).stderr).toContain(`on the server ${SERVER} (HALO_URL)`);
    expect((await halo(['ls'], SERVER)).stderr).toBe('No runs yet. Start one with `halo run prd.json`.\n');
  });

  it('help pages do not name the machine', async () => {
    expect((await halo(['doctor', '--help'], SERVER)).stderr).toBe('');
  });
});
