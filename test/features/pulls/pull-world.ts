import { randomBytes } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { resolveConfig } from '../../../src/config/resolve.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import type { Confirmation } from '../../../src/core/review/flags.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { newRunId } from '../../../src/lib/run-id.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import type { FedEvents } from '../../../src/store/journal/journal-feed.ts';
import { openStore } from '../../../src/store/store.ts';
import { PullRequester } from '../../../src/features/pulls/worker/pull-requester.ts';
import { PullReviewer } from '../../../src/features/pulls/worker/pull-reviewer.ts';
import { giveFeedback } from '../../../src/worker/control/give-feedback.ts';
import { landRun } from '../../../src/worker/run/land-run.ts';
import { it as base } from '../../support/forge/pull-home.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { attempted, created, passed } from '../../support/journal.ts';

const MINUTE_MS = 60_000;
const END = { type: 'run.ended', stopReason: 'SUCCESS', detail: 'Done.' } as const;

/**
 * Tests with the fake forge and `open`, which makes a run whose journal and commits a test writes instead of a worker. `pass`
 * does what a worker does about its pull requests within a minute.
 */
export const it = base.extend('open', ({ forge, haloHome: { dir: home }, repository, origin }, { onCleanup }) => {
  const env = { TEST_FORGE_TOKEN: forge.token };
  const store = openStore(home, { transcribe });
  let time = Date.UTC(2030, 0, 1);
  const context = { home, store, log: pino({ level: 'silent' }), now: () => time, env, masker: openMasker() };
  const queued: number[] = [];
  const queue = { enqueue: ({ attempt }: { attempt: number }) => Promise.resolve(void queued.push(attempt)) };

  const openWorker = () => ({
    requester: new PullRequester(context),
    reviewer: new PullReviewer(context, queue),
  });
  let worker = openWorker();
  onCleanup(async () => {
    await worker.requester.close();
    await worker.reviewer.close();
  });

  /** Hands on what is new in the journals, sends, and reads the forge. */
  async function pass() {
    time += MINUTE_MS;
    const { requester, reviewer } = worker;
    const take = async (fed: FedEvents) => {
      await requester.take(fed);
      await reviewer.take(fed);
    };
    await store.feedEvents(take, new AbortController().signal);
    requester.flush(false);
    await requester.settle();
    await reviewer.read();
  }

  return async function open(ids: string[], settings: string[] = ['land.mode="pr"']) {
    const start = repository.git('rev-parse', 'main');
    const gitDir = join(repository.root, '.git');
    await updateMirror({ home, name: 'shop-1', from: gitDir, commit: start });
    const runId = newRunId(new Date(), randomBytes);
    const repo = { source: repository.root, mirror: 'shop-1', branch: 'main', base: start };
    const { config } = resolveConfig({ cwd: home, set: ['gates=["true"]', ...settings] });
    await store.createRun(
      { ...created(runId, ids), repo, prdIsHere: false },
      { haloVersion: '0.1.0', agent: { name: 'command' }, args: [], config },
    );
    const append = (...entries: JournalEntry[]) => store.append(runId, entries).then(() => undefined);
    const state = () => store.readState(runId);
    await append({ type: 'run.started' });
    return {
      runId,
      state,
      append,
      store,
      branch: `halo/${runId}`,
      /** The attempts that were queued. */
      queued,
      events: (type: JournalEntry['type']) => readJournal(home, runId).filter((event) => event.type === type),
      files: (folder: 'pull-requests' | 'pull-reviews') => readdirSync(join(home, folder)),
      /** The newest commit of a branch on the forge. */
      head: (name = `halo/${runId}`) => origin.git('rev-parse', `refs/heads/${name}`),
      /** The next attempt at a story lands a commit, which writes a file of its name. */
      async land(story: string) {
        const { tip, epoch, stories } = await state();
        const attempt = (stories.find(({ id }) => id === story)?.attempts ?? 0) + 1;
        repository.git('checkout', '-q', '--detach', tip);
        repository.write(`${story}.txt`, `Attempt ${attempt}.`);
        const commit = repository.commit(story);
        repository.git('checkout', '-q', 'main');
        repository.git('update-ref', `refs/heads/halo/${runId}`, commit);
        repository.git(
          '-c',
          'user.name=Tess',
          '-c',
          'user.email=t@shop.test',
          'notes',
          '--ref=halo',
          'add',
          '-m',
          '{}',
          commit,
        );
        await updateMirror({ home, name: 'shop-1', from: gitDir, commit });
        await append(
          ...attempted(story, attempt).map((each) =>
            each.type === 'story.started' ? { ...each, epoch: epoch + 1, base: tip } : each,
          ),
          ...passed(story).flatMap((each) => (each.type === 'story.ended' ? [{ ...each, attempt, commit }] : [])),
        );
        return commit;
      },
      /** The next attempt at a story adds what may be a secret. */
      suspect: (story: string) =>
        append({
          type: 'secrets.suspected',
          story,
          attempt: 1,
          suspects: [{ path: 'k.txt', names: ['a GitHub token'] }],
        }),
      end: () => append(END),
      landRun: (confirmation: Confirmation = {}) => landRun(store, home, { runId, by: 'tess', confirmation }),
      sendBack: (story: string, text: string) =>
        giveFeedback(context, { runId, by: 'tess', openQueue: () => Promise.resolve(queue) }, { storyId: story, text }),
      pass,
      /** The worker ends. */
      close: () => worker.requester.close(),
      /** The worker is gone, without an end, and another one continues. */
      crash() {
        worker = openWorker();
      },
    };
  };
});

/** No forge is configured any more. */
export function removeForge({ dir }: { dir: string }): void {
  writeFileSync(join(dir, 'config.toml'), '');
}
