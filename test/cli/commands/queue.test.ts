import { describe, expect, it } from 'vitest';
import type { FolderRequest } from '../../../src/api/prd-folder/run-folder-queue.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

async function queue(words: string[], result = { done: 1, failed: 0 }) {
  const requests: FolderRequest[] = [];
  const services = {
    async runFolderQueue(request: FolderRequest) {
      requests.push(request);
      await request.say('1.json is done\u001b[31m.');
      return result;
    },
  };
  const ended = await runCli(['queue', ...words], { operations: openMemory(), services, cwd: '/shop' });
  return { ...ended, request: requests[0] };
}

describe('halo queue', () => {
  it('ends with 0 when nothing is left to do, and with 10 after a PRD that failed', async () => {
    expect(await queue(['prds'])).toMatchObject({ code: 0, stdout: '' });
    const failed = await queue(['prds', '--json'], { done: 2, failed: 1 });
    expect(failed).toMatchObject({ code: 10, stdout: '{"done":2,"failed":1}\n' });
  });

  it('passes on folder, repository, settings and what happens after a failure', async () => {
    const { request } = await queue(['prds', '--repo', '../api', '--agent', 'claude', '-c', 'a=1', '--watch']);
    expect(request).toMatchObject({
      folder: '/shop/prds',
      repo: '/api',
      options: { set: ['a=1', 'agent=claude'], allowDirty: false },
      watch: true,
      skip: false,
    });
    expect((await queue(['prds', '--on-failure', 'skip'])).request).toMatchObject({ skip: true, watch: false });
    expect((await queue(['prds', '--on-failure', 'retry'])).code).toBe(2);
    expect((await queue([])).code).toBe(2);
  });

  it('prints progress on stderr, without control characters', async () => {
    const { stderr } = await queue(['prds']);
    expect(stderr).toContain('1.json is done');
    expect(stderr).not.toContain('\u001b');
    expect(stderr).toContain('1 done, 0 failed\n');
  });
});
