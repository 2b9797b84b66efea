import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JournalEvent } from '../../src/core/journal/events.ts';
import { openHalo, OK, scripted, type TestHalo } from '../support/halo/halo.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { median, print, showRound, type Measure } from './report.ts';

const STORIES = [{ id: 'S-1' }, { id: 'S-2' }];
/** Of `snapshot.mode`. The first run of a round that makes a snapshot is that of `overlay`; `copy` uses it. */
const MODES = ['overlay', 'copy', 'off'];
const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** What is installed: by default halo's own packages. */
export interface WarmOptions {
  rounds: number;
  json: boolean;
  /** Path of a git repository. */
  repository?: string | undefined;
  setup?: string | undefined;
  /** Further settings: `key=value`. */
  set?: string[] | undefined;
}

/**
 * What setup costs the second story of a run: `npm ci`, a no-op agent and a no-op gate, against the same story without
 * setup, and against the setup of the first story. Each round has a home of its own. Then how long the second story is
 * prepared while the volumes of the first one are removed, against the preparation of the first one: without snapshots, with
 * an overlay and with a copy.
 */
export async function measureWarm({ rounds, json, ...installed }: WarmOptions): Promise<void> {
  const { setup = 'npm ci --ignore-scripts', set = ['network.registries=["npm"]'] } = installed;
  const repository = openRepository(installed.repository);
  const [setups, stories]: [Measure[], Measure[]] = [[], []];
  const prepared = new Map<string, Measure[]>(MODES.map((mode) => [mode, []]));
  const install = (mode: string) => [
    `setup=[${JSON.stringify(setup)}]`,
    'snapshot.recheck=0',
    `snapshot.mode="${mode}"`,
    ...set,
  ];
  try {
    for (let round = 0; round < rounds; round += 1) {
      const halo = await openHalo({ concurrency: 1 });
      try {
        showRound(round, rounds, 'without setup');
        const { second: bare } = await timeRun(halo, repository.root, []);
        for (const mode of MODES) {
          showRound(round, rounds, `snapshots: ${mode}`);
          const { second: warm, installed: floor, prepares } = await timeRun(halo, repository.root, install(mode));
          prepared.get(mode)?.push(prepares);
          if (mode !== 'overlay') continue;
          setups.push({ halo: warm - bare, floor, ratio: (warm - bare) / floor });
          stories.push({ halo: warm, floor: bare, ratio: warm / bare });
        }
      } finally {
        await halo.close();
      }
    }
  } finally {
    repository.remove();
  }
  print({ name: 'setup of a warm story', measures: setups, ratio: medianOf(setups), limit: 0.1, json });
  print({ name: 'warm story', measures: stories, ratio: medianOf(stories), limit: 2.0, json });
  for (const [mode, measures] of prepared)
    print({
      name: `prepare of the second story, snapshots: ${mode}`,
      measures,
      ratio: medianOf(measures),
      limit: 1.2,
      json,
    });
}

/** A copy of the repository, or a new one with halo's packages. */
function openRepository(path: string | undefined): { root: string; remove(): void } {
  if (path !== undefined) {
    const root = mkdtempSync(join(tmpdir(), 'halo-repo-'));
    execFileSync('git', ['clone', '-q', resolve(path), root]);
    return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
  }
  const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');
  return makeRepository({
    'package.json': read('package.json'),
    'package-lock.json': read('package-lock.json'),
    '.gitignore': 'node_modules/\n',
  });
}

function medianOf(measures: Measure[]): number {
  return median(measures.map(({ ratio }) => ratio));
}

interface RunTimes {
  /** The second story. */
  second: number;
  /** The first installation. */
  installed: number;
  /** The phase `prepare` of the second story and, as the floor, of the first. */
  prepares: Measure;
}

/** Durations of a run of two stories, in ms. */
async function timeRun(halo: TestHalo, root: string, more: string[]): Promise<RunTimes> {
  const gate = more.length === 0 ? 'true' : 'test -d node_modules || test -d .venv';
  const state = await halo.run(root, STORIES, scripted(`date +%N > "$(date +%N)"; ${OK}`, [gate], more));
  if (state.stopReason !== 'SUCCESS') throw new Error(`halo ended with ${state.stopReason}: ${state.detail}`);
  const events = halo.journal(state.runId);
  const setup = events.find((event) => event.type === 'setup.ended');
  const at = (type: JournalEvent['type']) =>
    Date.parse(events.findLast((event) => event.type === type && 'story' in event && event.story === 'S-2')?.at ?? '');
  const [first = Number.NaN, second = Number.NaN] = events.flatMap((event) =>
    event.type === 'phase.ended' && event.phase === 'prepare' ? [event.ms] : [],
  );
  return {
    second: at('story.ended') - at('story.started'),
    installed: setup?.ms ?? Number.NaN,
    prepares: { halo: second, floor: first, ratio: second / first },
  };
}
