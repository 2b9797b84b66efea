import { execFileSync } from 'node:child_process';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../src/api/operations.ts';
import { Inspections } from '../../../src/api/access/inspections.ts';
import { resolveSubmission } from '../../../src/api/submit/resolve-submission.ts';
import type { SubmitContext } from '../../../src/api/submit/submit-context.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { tempDir } from '../../support/temp-dir.ts';

const FILES = { 'halo.toml': 'gates = ["true"]\n', a: '1' };

/** Ways to let git wait for a pipe to which no process writes. */
const PIPES: Record<string, (repository: TestRepository) => void> = {
  '.git/HEAD': ({ root }) => pipe(join(root, '.git/HEAD')),
  '.git/info/exclude': ({ root }) => pipe(join(root, '.git/info/exclude')),
  '.git/index': ({ root }) => pipe(join(root, '.git/index')),
  'include.path': (repository) => configure(repository, '[include]\n\tpath'),
  'core.attributesFile': (repository) => configure(repository, '[core]\n\tattributesFile'),
  'core.excludesFile': (repository) => configure(repository, '[core]\n\texcludesFile'),
};

function pipe(path: string): string {
  rmSync(path, { force: true });
  execFileSync('mkfifo', [path]);
  return path;
}

function configure({ root }: TestRepository, setting: string): void {
  appendFileSync(join(root, '.git/config'), `${setting} = ${pipe(join(tempDir('pipe'), 'p'))}\n`);
}

function submit(source: string) {
  const context = { host: { home: tempDir('home') }, env: {} } as unknown as SubmitContext;
  const prd = { path: join(source, 'prd.json'), bytes: Buffer.from('{"userStories":[]}') };
  return resolveSubmission(context, { request: { profile: undefined, set: [], allowDirty: false }, source, prd });
}

describe('incident pipes: a repository has pipes in the place of files of git', () => {
  it.each(Object.entries(PIPES))('a submit with %s ends soon', async (_, place) => {
    const repository = newRepository(FILES);
    place(repository);
    const asked = new Inspections({ gitMs: 200 }).run('ada', undefined, () => submit(repository.root));
    await expect(asked).rejects.toMatchObject({
      message: expect.stringMatching(/did not end within|neither a file/) as string,
    });
  });

  it.each(['submit', 'submitBatch', 'submitIssues', 'previewPrompt', 'resume', 'retry', 'requestPull'] as const)(
    'the operation %s, which asks git about a checkout, has these limits',
    (name) => expect(OPERATIONS[name]).toMatchObject({ inspects: true }),
  );

  it('a submit ends when its client leaves, and the submits that wait behind it', async () => {
    const repository = newRepository(FILES);
    pipe(join(repository.root, '.git/HEAD'));
    const inspections = new Inspections();
    const client = new AbortController();
    const asked = Array.from({ length: 6 }, () => inspections.run('ada', client.signal, () => submit(repository.root)));
    const ends = Promise.allSettled(asked);
    client.abort();
    for (const end of await ends) expect(end).toMatchObject({ status: 'rejected', reason: { code: 'RUN_ABORTED' } });
  });

  it('four submits of one user run at the same time, sixty wait, and others are not held up', async () => {
    const inspections = new Inspections();
    const releases: (() => void)[] = [];
    const hang = () => new Promise<void>((resolve) => void releases.push(resolve));
    const running = Array.from({ length: 64 }, () => inspections.run('ada', undefined, hang));
    await expect(inspections.run('ada', undefined, hang)).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    expect(await inspections.run('ben', undefined, () => Promise.resolve('done'))).toBe('done');
    let most = 0;
    let ended = 0;
    const all = Promise.all(running.map((each) => each.then(() => (ended += 1))));
    while (ended < 64) {
      most = Math.max(most, releases.length);
      releases.splice(0).forEach((release) => release());
      await new Promise(setImmediate);
    }
    await all;
    expect(most).toBe(4);
  });
});
