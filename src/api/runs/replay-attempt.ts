import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import { completeConfig } from '../../config/apply-defaults.ts';
import type { Host } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { foldRun } from '../../core/journal/fold-run.ts';
import { transcribe } from '../../core/transcript/transcript.ts';
import type { AttemptPlace } from '../../store/run-layout.ts';
import { openStore, type Store } from '../../store/store.ts';
import { cassetteIn } from '../../worker/cassette-file.ts';
import { findStory } from '../../worker/find-story.ts';
import { hostGitDirOf } from '../../worker/host-repo.ts';
import { openIdle } from '../../worker/create-worker-context.ts';
import { lastPrd } from '../../worker/run/read-run.ts';
import { replayStory, type Recorded } from '../../worker/proof/replay-story.ts';
import type { Replayed, ReplayOptions } from '../operations.ts';

const CASSETTE = 'cassette.jsonl';

/** Repeats an attempt from its cassette. What it leaves goes into a folder that is gone afterwards. */
export async function replayAttempt(
  host: Host,
  { runId, storyId, attempt, signal = new AbortController().signal }: ReplayOptions & { runId: string },
): Promise<Replayed> {
  const store = openStore(host.home, { transcribe });
  const recorded = await findAttempt(store, runId, { storyId, attempt });
  const scratch = await mkdtemp(join(tmpdir(), 'halo-replay-'));
  const cleaning = new Set<Promise<void>>();
  try {
    const { place } = recorded;
    const cassettes = join(scratch, 'cassettes');
    await fetchCassette(store, recorded, join(cassettes, `${place.storyKey}.jsonl`));
    const worker = openIdle({ host, log: pino({ level: 'silent' }), cleaning });
    const copy = openStore(scratch, { transcribe, masker: worker.masker });
    await copyFailures(store, copy, place);
    const hostGitDir = await hostGitDirOf(host.home, recorded.state.repo);
    return await replayStory(
      { ...worker, store: copy },
      { ...recorded, originals: store, cassettes, hostGitDir, signal },
    );
  } finally {
    await Promise.allSettled(cleaning);
    await rm(scratch, { recursive: true, force: true });
  }
}

type Started = JournalEvent & { type: 'story.started' };
type Ended = JournalEvent & { type: 'story.ended' };

/** What the journal says of the attempt, and the run's state in which it began. */
async function findAttempt(
  store: Store,
  runId: string,
  { storyId, attempt }: { storyId: string; attempt: number | undefined },
): Promise<Recorded> {
  const [events, record] = await Promise.all([store.readJournal(runId), store.readRecord(runId)]);
  const of = (event: Started | Ended) =>
    event.story === storyId && (attempt === undefined || event.attempt === attempt);
  const ended = events.findLast((event): event is Ended => event.type === 'story.ended' && of(event));
  const started = events.findLast(
    (event): event is Started => event.type === 'story.started' && of(event) && event.attempt === ended?.attempt,
  );
  const before = events.filter(({ seq }) => started !== undefined && seq < started.seq);
  const state = foldRun(before);
  const prd = lastPrd(before);
  const story = prd?.stories.find(({ id }) => id === storyId);
  if (ended === undefined || started === undefined || !state || !prd || !story) {
    const which = attempt === undefined ? 'attempt' : `attempt ${attempt}`;
    throw new HaloError(
      'STORY_NOT_FOUND',
      `Run ${runId} has no finished ${which} at a story ${JSON.stringify(storyId)}.`,
      {
        hint: `Look at its stories: halo status ${runId}`,
      },
    );
  }
  const { verdict, stopReason, summary } = ended;
  const place = { runId, storyKey: findStory(state, storyId).key, attempt: ended.attempt };
  const config = completeConfig(record.config);
  return { place, prd, story, state, config, image: started.image, end: { verdict, stopReason, summary } };
}

/** The one that the attempt recorded, or else the one that it was replayed from itself. */
async function fetchCassette(store: Store, { place, story, config }: Recorded, to: string): Promise<void> {
  const own = store.artifactPath(place, CASSETTE);
  const { cassettes, mode } = config.model;
  const from =
    mode === 'replay' && cassettes !== undefined ? cassetteIn(cassettes, { id: story.id, key: place.storyKey }) : own;
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to).catch((error: NodeJS.ErrnoException) => {
    throw new HaloError(
      'CASSETTE_MISSING',
      `There is no cassette of this attempt (${from}: ${error.code ?? 'unreadable'}).`,
      {
        hint: 'Only runs with `-c model.mode=record` keep one.',
        cause: error,
      },
    );
  });
}

/** The prompt quotes why the attempt before failed. */
async function copyFailures(from: Store, to: Store, place: AttemptPlace): Promise<void> {
  for (let attempt = 1; attempt < place.attempt; attempt += 1) {
    const text = await from.readArtifact({ ...place, attempt }, 'failure.log');
    if (text !== undefined) await to.writeArtifact({ ...place, attempt }, 'failure.log', text);
  }
}
