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

  it('lists the PRDs with --list, in order, and runs nothing', async () => {
    const services = {
      listFolder: () =>
        Promise.resolve([
          { name: '1.json', state: 'running' as const, done: 1, total: 3, runId: '0tbq4m8k7xw2dhe' },
          { name: '2.md', state: 'waiting' as const, done: 0, total: 2 },
          { name: '3\u001b.json', state: 'refused' as const, done: 0, total: 0, reason: 'it is a link' },
        ]),
    };
    const run = (words: string[]) => runCli(['queue', 'prds', ...words], { operations: openMemory(), services });
    const { stdout } = await run(['--list']);
    expect(stdout.split('\n').map((line) => line.split(/\s+/))).toEqual([
      ['NAME', 'STATE', 'DONE', 'RUN'],
      ['1.json', 'running', '1/3', '0tbq4m8k7xw2dhe'],
      ['2.md', 'waiting', '0/2', '-'],
      ['3<U+001B>.json', 'refused', '-', '-', 'it', 'is', 'a', 'link'],
      [''],
    ]);
    expect(JSON.parse((await run(['--list', '--json'])).stdout)).toHaveLength(3);
  });
});
