import { pino } from 'pino';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { holdCommit } from '../../src/git/commit/held-commits.ts';
import { mirrorPath, updateMirror } from '../../src/git/mirror/mirror.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import type { EnqueueRequest } from '../../src/queue/queue.ts';
import type { ControlRequest } from '../../src/worker/control/control-run.ts';
import type { RunKeeper } from '../../src/worker/worker-context.ts';
import { attempted, created } from '../support/journal.ts';
import type { TestRepository } from '../support/repository/repository.ts';

const ORIGIN = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: { gates: [] } };

/** A run in a home, on a real repository and its mirror, without a worker. */
export interface IdleRun {
  runId: string;
  keeper: RunKeeper;
  store: Store;
  base: string;
  /** The jobs that were queued. */
  queued: EnqueueRequest[];
  request: ControlRequest;
  append: (...entries: JournalEntry[]) => Promise<void>;
  /** Makes a commit for a story, which then waits for approval. */
  hold(story: string): Promise<string>;
  /** Starts a story and moves the branch of the run to a commit of it, without recording it: its worker has died. */
  landUnrecorded(story: string): Promise<string>;
  /** Stores a commit as one that waits. */
  storeHeld(story: string, commit: string): Promise<void>;
  /** Commits that are stored as waiting for approval. */
  heldCommits: () => string[];
}

/** A run of these stories that has started. `prdPath`: of its PRD. */
export async function openIdleRun(
  home: string,
  repository: TestRepository,
  {
    stories = ['US-001', 'US-002'],
    prdPath = '/home/me/shop/prd.json',
    origin = ORIGIN,
  }: { stories?: string[]; prdPath?: string; origin?: typeof ORIGIN } = {},
): Promise<IdleRun> {
  const store = openStore(home, { transcribe });
  const base = repository.git('rev-parse', 'main');
  const gitDir = `${repository.root}/.git`;
  await updateMirror({ home, name: 'shop-1', from: gitDir, commit: base });
  const mirrorDir = mirrorPath(home, 'shop-1');
  const entry = created(undefined, stories);
  const { runId } = entry;
  const repo = { source: repository.root, mirror: 'shop-1', branch: 'main', base };
  await store.createRun({ ...entry, repo, prdPath, prdIsHere: true }, origin);
  const append = (...entries: JournalEntry[]) => store.append(runId, entries).then(() => undefined);
  await append({ type: 'run.started' });
  const keyOf = async (story: string) => (await store.readState(runId)).stories.find(({ id }) => id === story)!.key;
  const storeHeld = async (story: string, commit: string) =>
    holdCommit({ candidateDir: gitDir, mirrorDir, runId, storyKey: await keyOf(story), commit });
  const queued: EnqueueRequest[] = [];
  const enqueue = (job: EnqueueRequest) => {
    queued.push(job);
    return Promise.resolve();
  };
  return {
    runId,
    store,
    base,
    queued,
    append,
    storeHeld,
    keeper: { home, store, log: pino({ level: 'silent' }) },
    request: { runId, by: 'tess', openQueue: () => Promise.resolve({ enqueue }) },
    async hold(story) {
      repository.git('checkout', '-q', '--detach', base);
      repository.write(`${story}.txt`, story);
      const commit = repository.commit(story);
      repository.git('checkout', '-q', 'main');
      await storeHeld(story, commit);
      await append(...attempted(story), {
        type: 'story.ended',
        story,
        attempt: 1,
        verdict: 'needs_human',
        stopReason: 'NEEDS_HUMAN',
        summary: 'it waits for approval',
        usage: { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 },
        held: { commit, paths: ['ci.yml'] },
      });
      return commit;
    },
    async landUnrecorded(story) {
      const { tip, epoch } = await store.readState(runId);
      repository.git('checkout', '-q', '--detach', tip);
      repository.write(`${story}.txt`, story);
      const trailers = [`Halo-Run: ${runId}`, `Halo-Story: ${story}`, `Halo-Story-Key: ${await keyOf(story)}`];
      const commit = repository.commit(`${story}\n\n${trailers.join('\n')}`);
      repository.git('checkout', '-q', 'main');
      repository.git('update-ref', `refs/heads/halo/${runId}`, commit);
      await append(
        ...attempted(story).map((entry) => (entry.type === 'story.started' ? { ...entry, epoch: epoch + 1 } : entry)),
      );
      return commit;
    },
    heldCommits: () =>
      repository
        .git('-C', `${mirrorDir}/../held.git`, 'for-each-ref', '--format=%(objectname)', 'refs/halo/held')
        .split('\n')
        .filter((line) => line !== ''),
  };
}
