import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { createFolders } from '../../../lib/fs.ts';
import { applyDefaults } from '../../../config/apply-defaults.ts';
import { configOfStart } from '../../../config/choice/choose-agent.ts';
import type { Config, Host } from '../../../config/config.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import type { AttemptRef } from '../../../core/journal/event-parts.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';
import { AGENT_TASKS, type Phase } from '../../../core/journal/phase.ts';
import { foldRun } from '../../../core/journal/fold-run.ts';
import { transcribe } from '../../../core/transcript/transcript.ts';
import type { AttemptLocation } from '../../../store/run-layout.ts';
import type { ArtifactStore } from '../../../store/artifact-store.ts';
import type { JournalStore } from '../../../store/journal-store.ts';
import { openStore } from '../../../store/store.ts';
import { storyCassettePath, taskCassettePath } from '../../../worker/network/model-access.ts';
import { storyOf } from '../../../core/run/state.ts';
import { hostGitDirOf } from '../../../worker/repository/host-repository.ts';
import { createIdleContext } from '../../../worker/create-worker-context.ts';
import { lastPrd } from '../../../worker/run/read-run.ts';
import { replayStory, type Recorded } from '../worker/replay-story.ts';
import type { Replayed } from './schemas.ts';

const CASSETTE = 'cassette.jsonl';

/** Repeats an attempt from its cassette. Its files are written to a temporary folder. */
export async function replayAttempt(
  host: Host,
  {
    runId,
    storyId,
    attempt,
    signal = new AbortController().signal,
  }: { runId: string; storyId: string; attempt?: number; signal?: AbortSignal },
): Promise<Replayed> {
  const store = openStore(host.home, { transcribe });
  const recorded = await readAttempt(store, runId, { storyId, attempt });
  const scratch = await mkdtemp(join(tmpdir(), 'halo-replay-'));
  const cleaning = new Set<Promise<void>>();
  try {
    const { location } = recorded;
    const cassettes = join(scratch, 'cassettes');
    await fetchCassettes(store, recorded, cassettes);
    const worker = createIdleContext({ host, log: pino({ level: 'silent' }), cleaning });
    const copy = openStore(scratch, { transcribe, masker: worker.masker });
    await copyFailures(store, copy, location);
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

/** A recorded attempt with the phases that it began. */
type RecordedPhases = Recorded & { phases: Phase[] };

type Started = JournalEvent & { type: 'story.started' };
type Ended = JournalEvent & { type: 'story.ended' };

/** The attempt as recorded in the journal, and the state of the run at its start. */
async function readAttempt(
  store: JournalStore,
  runId: string,
  { storyId, attempt }: { storyId: string; attempt: number | undefined },
): Promise<RecordedPhases> {
  const [events, record] = await Promise.all([store.readJournal(runId), store.readRecord(runId)]);
  const of = (event: { story: string; attempt: number }) =>
    event.story === storyId && (attempt === undefined || event.attempt === attempt);
  const ended = events.findLast((event): event is Ended => event.type === 'story.ended' && of(event));
  const started = events.findLast(
    (event): event is Started => event.type === 'story.started' && of(event) && event.attempt === ended?.attempt,
  );
  const isPrompted = promptedMessages(events, (event) => started !== undefined && event.seq > started.seq && of(event));
  const before = events.filter((event) => started !== undefined && (event.seq < started.seq || isPrompted(event)));
  const state = foldRun(before);
  const prd = lastPrd(before);
  const story = prd?.stories.find(({ id }) => id === storyId);
  if (ended === undefined || started === undefined || !state || !prd || !story) {
    const which = attempt === undefined ? 'attempt' : `attempt ${attempt}`;
    throw new HaloError(
      'STORY_NOT_FOUND',
      `Run ${runId} has no finished ${which} at a story ${JSON.stringify(storyId)}.`,
      {
        hint: `Run \`halo status ${runId}\` to see its stories.`,
      },
    );
  }
  const { verdict, stopReason, summary } = ended;
  const hasContinued = events.some(
    (event) => event.type === 'agent.launched' && event.seq > started.seq && of(event) && event.session === 'continued',
  );
  if (hasContinued) throw isContinued(ended);
  const location = { runId, storyKey: storyOf(state, storyId).key, attempt: ended.attempt };
  const chosen = configOfStart(applyDefaults(record.config), started);
  const review = events.findLast((event) => event.type === 'review.ended' && event.seq > started.seq && of(event));
  const config = withReviewer(chosen, review?.type === 'review.ended' ? review.agent : undefined);
  const phases = events.flatMap((event) =>
    event.type === 'phase.started' && event.seq > started.seq && of(event) ? [event.phase] : [],
  );
  return { location, prd, story, state, config, image: started.image, end: { verdict, stopReason, summary }, phases };
}

/** The session is removed with its story, and the requests of the attempt begin with what was said in it. */
function isContinued({ story, attempt }: AttemptRef): HaloError {
  return new HaloError(
    'CASSETTE_MISSING',
    `Attempt ${attempt} at ${JSON.stringify(story)} continued a session, so its cassette alone cannot replay it.`,
    { hint: 'Replay an earlier attempt, with --attempt.' },
  );
}

/** Which messages the prompt of an attempt has, also if they were sent after the attempt had begun. */
function promptedMessages(events: readonly JournalEvent[], ofAttempt: (event: JournalEvent & AttemptRef) => boolean) {
  const ids = events.flatMap((event) =>
    event.type === 'message.delivered' && event.how === 'prompt' && ofAttempt(event) ? event.ids : [],
  );
  return (event: JournalEvent) => event.type === 'message.sent' && ids.includes(event.id);
}

/** The settings under which this agent reviews again, or none. */
function withReviewer(config: Config, agent: string | undefined): Config {
  const reviewers = config.review.reviewers.filter((each) => each.agent === agent);
  return { ...config, review: { when: 'always', reviewers } };
}

/** Copies the cassettes that the attempt recorded, or from which it was replayed: of the tests that it wrote, and of the story. */
async function fetchCassettes(store: ArtifactStore, recorded: RecordedPhases, folder: string): Promise<void> {
  const { location, config, phases } = recorded;
  const { cassettes, mode } = config.model;
  const source = mode === 'replay' ? cassettes : undefined;
  const ofStory = source && storyCassettePath(source, location.storyKey);
  await createFolders(folder);
  for (const task of AGENT_TASKS) {
    if (!phases.includes(task)) continue;
    const from = source && taskCassettePath(source, location.storyKey, task);
    const to = taskCassettePath(folder, location.storyKey, task);
    await copyCassette({ from, store, location, name: `${task}/${CASSETTE}` }, to);
  }
  // Tests that are not accepted end the attempt.
  if (phases.includes('tests') && !phases.includes('agent')) return;
  const to = join(folder, `${location.storyKey}.jsonl`);
  await copyCassette({ from: ofStory, store, location, name: CASSETTE }, to);
}

/** A cassette at a path or, if that is undefined, one that an attempt recorded. */
interface KeptCassette {
  from: string | undefined;
  store: ArtifactStore;
  location: AttemptLocation;
  name: string;
}

async function copyCassette({ from: path, store, location, name }: KeptCassette, to: string): Promise<void> {
  const from = path ?? store.artifactPath(location, name);
  const copied = path === undefined ? store.copyArtifact(location, name, to) : cp(path, to);
  await copied.catch((error: NodeJS.ErrnoException) => {
    throw new HaloError(
      'CASSETTE_MISSING',
      `There is no cassette of this attempt (${from}: ${error.code ?? 'unreadable'}).`,
      {
        hint: 'Record the run with `-c model.mode=record`, then replay it.',
        cause: error,
      },
    );
  });
}

/** Copies the logs of earlier failures, which the prompt quotes. */
async function copyFailures(from: ArtifactStore, to: ArtifactStore, location: AttemptLocation): Promise<void> {
  for (let attempt = 1; attempt < location.attempt; attempt += 1) {
    const text = await from.readArtifact({ ...location, attempt }, 'failure.log');
    if (text !== undefined) await to.writeArtifact({ ...location, attempt }, 'failure.log', text);
  }
}
