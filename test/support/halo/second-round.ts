import { join } from 'node:path';
import { holdCommit } from '../../../src/git/commit/held-commits.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import type { ScriptedHome } from './scripted-home.ts';

const USAGE = { requests: 1, inputTokens: 1, cachedTokens: 0, outputTokens: 1 };
const FIRST = { 'src/cart.ts': 'one\nsecond\n', 'src/total.ts': 'total\n' };

/**
 * Adds run heldrun1, with a story whose second commit waits, on a base on which another story may have landed. Returns the
 * directory of its mirror.
 */
export async function addSecondRound(home: ScriptedHome, other?: Record<string, string>): Promise<string> {
  const repository = await home.addHeldRun('heldrun1', { base: { 'src/cart.ts': 'one\n' }, files: FIRST });
  const run = (await home.operations.getRun({ runId: 'heldrun1' })).state;
  const { key, held } = run.stories[0]!;
  const feedback = { commit: held!.commit, text: 'Name it.', comments: [], by: 'lena' };
  await home.append('heldrun1', { type: 'feedback.given', story: 'US-001', attempt: 1, ...feedback });
  const candidateDir = join(repository.root, '.git');
  const mirrorDir = join(home.host.home, 'repos', run.repo.mirror, 'mirror.git');
  let { base } = run.repo;
  if (other !== undefined) {
    for (const [path, text] of Object.entries(other)) repository.write(path, text);
    base = repository.commit('Another story.');
    await updateMirror({ home: home.host.home, name: run.repo.mirror, from: candidateDir, commit: base });
  }
  const ref = { story: 'US-001', attempt: 2 };
  await home.append('heldrun1', { type: 'run.started' }, { type: 'story.started', ...ref, epoch: 2, base });
  repository.git('checkout', '-q', '-b', 'second');
  for (const [path, text] of Object.entries({ ...FIRST, 'src/cart.ts': 'one\nthird\n' })) repository.write(path, text);
  const commit = repository.commit('Name it.');
  await holdCommit({ candidateDir, mirrorDir, runId: 'heldrun1', storyKey: key, commit });
  const end = { verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary: 'waits', usage: USAGE } as const;
  await home.append('heldrun1', { type: 'story.ended', ...ref, ...end, held: { commit, paths: [] } });
  return mirrorDir;
}
