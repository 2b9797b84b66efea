import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { readRun } from '../../src/worker/run/read-run.ts';
import { created, passed } from '../support/journal.ts';
import { median, print, showRound, type Measure } from './report.ts';

const STORIES = 300;
/** Stories at each end of the run whose times are compared. */
const COMPARED = 20;
/** Agents that work for half an hour leave about as many. */
const ACTIVITIES = 400;
const ACTIVITY_CHARS = 2_000;

/**
 * What a worker reads and writes in the run directory for a story (its inputs, its events and the files derived from them):
 * the last stories of a run of 300 against the first ones, when each has 0.8 MB of activities.
 */
export async function measureLongRun({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const measures: Measure[] = [];
  for (let round = 0; round < rounds; round += 1) {
    showRound(round, rounds);
    const home = mkdtempSync(join(tmpdir(), 'halo-bench-'));
    try {
      const times = await timeStories(openStore(home, { transcribe }));
      const [floor, halo] = [median(times.slice(0, COMPARED)), median(times.slice(-COMPARED))];
      measures.push({ halo, floor, ratio: halo / floor });
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  }
  print({ name: 'long run', measures, ratio: median(measures.map(({ ratio }) => ratio)), limit: 2.0, json });
}

async function timeStories(store: Store): Promise<number[]> {
  const ids = Array.from({ length: STORIES }, (_, index) => `US-${index + 1}`);
  const entry = created(undefined, ids);
  await store.createRun(entry, { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: { gates: [] } });
  const { runId } = entry;
  await store.append(runId, [{ type: 'run.started' }]);
  const times: number[] = [];
  for (const story of ids) {
    const entries = passed(story);
    const activity: JournalEntry = {
      type: 'agent.activity',
      story,
      attempt: 1,
      activity: { kind: 'say', text: 'x'.repeat(ACTIVITY_CHARS) },
    };
    const started = performance.now();
    await readRun({ store }, runId);
    await store.append(runId, entries.slice(0, 1));
    const begun = performance.now() - started;
    await store.append(runId, Array<JournalEntry>(ACTIVITIES).fill(activity));
    const ended = performance.now();
    await store.append(runId, entries.slice(1));
    await readRun({ store }, runId);
    times.push(begun + performance.now() - ended);
  }
  return times;
}
