import { describe, expect, it } from 'vitest';
import { runCli } from '../support/terminal/cli-world.ts';
import { openMemory } from '../support/memory-operations.ts';

const SERVER = 'http://halo.test:7070';

async function halo(words: string[], apiUrl: string | undefined, shown = false) {
  const services = {
    readHost: () => Promise.resolve({ home: '/halo', redisUrl: undefined, apiUrl, apiToken: undefined }),
    readConfig: () => Promise.resolve({ text: '', json: {} }),
    diagnose: () => Promise.resolve([]),
  };
  return runCli(words, { operations: openMemory(), services, terminal: { shown } });
}

describe('with HALO_URL set, a command names the machine that it uses', () => {
  it.each([
    ['doctor', ['doctor']],
    ['config show', ['config', 'show']],
  ])('halo %s: this one', async (name, words) => {
    const says = `on this machine: \`halo ${name}\` does not use the server ${SERVER} (HALO_URL)\n`;
    expect((await halo(words, 'http://ann:secret@halo.test:7070/')).stderr).toBe(says);
    expect((await halo(words, undefined)).stderr).toBe('');
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
