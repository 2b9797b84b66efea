import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../support/terminal/cli-world.ts';
import { openMemory, type MemoryOperations } from '../../support/memory-operations.ts';
import { created, held } from '../../support/journal.ts';
import { tempDir } from '../../support/temp-dir.ts';

let operations: MemoryOperations;
let folder: string;

beforeEach(() => {
  operations = openMemory();
  folder = tempDir('halo-ask');
  writeFileSync(join(folder, 'prd.json'), '{}');
  operations.addRun([created('new-1', 1), { type: 'run.started' }, ...held('US-001')]);
});

/** `halo run --ask-for-approval` with a person who answers like this; the run ends as `then` says. */
async function run(answer: string | undefined, then: 'SUCCESS' | 'APPROVAL_DENIED') {
  const questions: string[] = [];
  const ask = (question: string) => {
    questions.push(question);
    setTimeout(() => {
      if (/^[yn]/.test(answer ?? '')) operations.append('new-1', { type: 'run.ended', stopReason: then, detail: '' });
    }, 50);
    return Promise.resolve(answer ?? '');
  };
  const services = { startWorker: () => Promise.resolve({ concurrency: 1, close: () => Promise.resolve() }) };
  const more = answer === undefined ? {} : { ask };
  const result = await runCli(['run', 'prd.json', '--ask-for-approval'], {
    operations,
    services,
    cwd: folder,
    ...more,
  });
  return { ...result, questions };
}

describe('halo run --ask-for-approval', () => {
  it('shows the diff, asks at the terminal, and continues after a yes', async () => {
    const result = await run('y', 'SUCCESS');
    expect(result.questions).toEqual(['Land US-001 (Story number 1)? [y]es, [n]o, anything else: later  ']);
    expect(result.stdout).toContain('+new of US-001');
    expect(result.code).toBe(0);
    expect(operations.submitted[0]?.set).toEqual(['approval.mode=story']);
    expect((await operations.getRun({ runId: 'new-1' })).state.stories[0]).toMatchObject({ progress: 'passed' });
  });

  it('ends when the user refuses', async () => {
    expect((await run('n', 'APPROVAL_DENIED')).code).toBe(4);
    expect((await operations.getRun({ runId: 'new-1' })).state.stories[0]).toMatchObject({
      stopReason: 'APPROVAL_DENIED',
    });
  });

  it.each([
    ['', 1],
    [undefined, 0],
  ])('leaves the story waiting after any other answer, or without a terminal', async (answer, asked) => {
    const result = await run(answer, 'SUCCESS');
    expect(result).toMatchObject({ code: 4, questions: { length: asked } });
    expect(result.stdout).toContain('halo approve new-1 --story US-001');
    expect((await operations.getRun({ runId: 'new-1' })).state.stories[0]).toMatchObject({ progress: 'needs_human' });
  });
});
