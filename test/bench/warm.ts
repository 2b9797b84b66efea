import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JournalEvent } from '../../src/core/journal/events.ts';
import { openHalo, OK, scripted, type TestHalo } from '../support/halo/halo.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { median, print, type Measure } from './report.ts';

const STORIES = [{ id: 'S-1' }, { id: 'S-2' }];
const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/**
 * What setup costs the second story of a run: `npm ci` of halo's own packages, a no-op agent and a no-op gate, against the
 * same story without setup, and against the `npm ci` of the first story. Each round has a home of its own.
 */
export async function measureWarm({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');
  const repository = makeRepository({
    'package.json': read('package.json'),
    'package-lock.json': read('package-lock.json'),
    '.gitignore': 'node_modules/\n',
  });
  const [setups, stories]: [Measure[], Measure[]] = [[], []];
  try {
    for (let round = 0; round < rounds; round += 1) {
      const halo = await openHalo({ concurrency: 1 });
      try {
        const { second: bare } = await timeRun(halo, repository.root, []);
        const { second: warm, install } = await timeRun(halo, repository.root, [
          'setup=["npm ci --ignore-scripts"]',
          'network.registries=["npm"]',
          'snapshot.recheck=0',
        ]);
        setups.push({ halo: warm - bare, floor: install, ratio: (warm - bare) / install });
        stories.push({ halo: warm, floor: bare, ratio: warm / bare });
      } finally {
        await halo.close();
      }
    }
  } finally {
    repository.remove();
  }
  print({ name: 'setup of a warm story', measures: setups, ratio: medianOf(setups), limit: 0.1, json });
  print({ name: 'warm story', measures: stories, ratio: medianOf(stories), limit: 2.0, json });
}

function medianOf(measures: Measure[]): number {
  return median(measures.map(({ ratio }) => ratio));
}

/** Durations of the second story and of the first installation, in ms. */
async function timeRun(halo: TestHalo, root: string, more: string[]): Promise<{ second: number; install: number }> {
  const gate = more.length === 0 ? 'true' : 'test -d node_modules';
  const state = await halo.run(root, STORIES, scripted(`date +%N > "$(date +%N)"; ${OK}`, [gate], more));
  if (state.stopReason !== 'SUCCESS') throw new Error(`halo ended with ${state.stopReason}: ${state.detail}`);
  const events = halo.journal(state.runId);
  const setup = events.find((event) => event.type === 'setup.ended');
  const at = (type: JournalEvent['type']) =>
    Date.parse(events.findLast((event) => event.type === type && 'story' in event && event.story === 'S-2')?.at ?? '');
  return { second: at('story.ended') - at('story.started'), install: setup?.ms ?? Number.NaN };
}
