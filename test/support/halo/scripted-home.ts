import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openLocal, type LocalOperations } from '../../../src/api/local.ts';
import type { Config, Host } from '../../../src/config/config.ts';
import { resolveConfig } from '../../../src/config/resolve.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { holdCommit } from '../../../src/git/commit/held-commits.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { openStore } from '../../../src/store/store.ts';
import { hostOf } from './host.ts';
import { attempted, created, held, passed } from '../journal.ts';
import { makeRepository, type TestRepository } from '../repository/repository.ts';

/** A HALO_HOME with the real operations, in which tests write the journals of runs instead of a worker. */
export interface ScriptedHome {
  host: Host;
  operations: LocalOperations;
  /** Writes a run with these events, a second apart, from 2030 on. Returns its id. */
  addRun(entries: readonly JournalEntry[]): Promise<string>;
  append(runId: string, ...entries: JournalEntry[]): Promise<void>;
  /** The next events are from this time on, instead of 2030. */
  setTime(at: Date): void;
  /** Writes a file of a run's artifacts. */
  writeArtifact(runId: string, path: string, content: string): void;
  /** Writes raw output of the agent of a story's first attempt. */
  writeRaw(runId: string, storyKey: string, text: string): Promise<void>;
  /** A repository with a run of these stories, of which the first is running; more events follow. */
  addRunningRun(runId: string, stories: number, ...more: JournalEntry[]): Promise<TestRepository>;
  /** A repository whose run `runId` has landed one commit on its branch, with the mirror of that repository. */
  addLandedRun(runId: string, change?: LandedChange): Promise<TestRepository>;
  /** The same, with a commit that waits for approval instead. */
  addHeldRun(runId: string, change?: HeldChange): Promise<TestRepository>;
  remove(): Promise<void>;
}

/** The change of a commit that waits for approval, and what the journal says about it. */
export interface HeldChange {
  /** The files of the first commit. */
  base?: Record<string, string>;
  /** What the commit writes; null: it removes the file. */
  files: Record<string, string | null>;
  protectedPaths?: string[];
  acceptance?: string[];
  title?: string;
  /** Events of the attempt before its end. */
  events?: JournalEntry[];
}

/** What a run has landed. */
export interface LandedChange {
  /** How many stories landed the commit; one if absent. */
  stories?: number;
  /** The criteria of each. */
  acceptance?: string[];
}

const PATH = 'cart.txt';
let defaults: Config | undefined;

/** `redisUrl`: default, a Redis of its own. */
export function openScriptedHome(redisUrl?: string): ScriptedHome {
  const home = mkdtempSync(join(tmpdir(), 'halo-home-'));
  const host = hostOf(home, redisUrl);
  let time = Date.UTC(2030, 0, 1);
  const now = () => {
    const at = new Date(time);
    time += 1000;
    return at;
  };
  const store = openStore(home, { transcribe: () => [], now });
  const operations = openLocal({ host });
  const repositories: TestRepository[] = [];
  const config = (defaults ??= resolveConfig({ cwd: '/' }).config);

  async function append(runId: string, ...entries: JournalEntry[]): Promise<void> {
    for (const entry of entries) await store.append(runId, [entry]);
  }

  async function addRun([first, ...rest]: readonly JournalEntry[]): Promise<string> {
    if (first?.type !== 'run.created') throw new Error('The first event must be run.created.');
    const prdIsHere = false;
    await store.createRun(
      { ...first, prdIsHere },
      { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: { ...config, gates: ['true'] } },
    );
    await append(first.runId, ...rest);
    return first.runId;
  }

  /** A repository with a commit on top of its base that is on no branch but `branch`. */
  async function makeCommit(branch: string, { base: first, files }: HeldChange = { files: { [PATH]: 'new\n' } }) {
    const repository = makeRepository(first);
    repositories.push(repository);
    const base = repository.git('rev-parse', 'HEAD');
    repository.git('checkout', '-q', '-b', branch);
    for (const [path, content] of Object.entries(files)) {
      if (content === null) repository.git('rm', '-q', path);
      else repository.write(path, content);
    }
    const commit = repository.commit('Add the cart.');
    repository.git('checkout', '-q', 'main');
    const gitDir = join(repository.root, '.git');
    const mirror = `mirror-${repositories.length}`;
    await updateMirror({ home, name: mirror, from: gitDir, commit: base });
    return { repository, commit, gitDir, mirror, repo: { source: repository.root, mirror, branch: 'main', base } };
  }

  return {
    host,
    operations,
    addRun,
    append,
    setTime: (at) => (time = at.getTime()),
    writeArtifact(runId, path, content) {
      const to = join(home, 'runs', runId, 'artifacts', path);
      mkdirSync(dirname(to), { recursive: true });
      writeFileSync(to, content);
    },
    writeRaw: (runId, storyKey, text) =>
      new Promise((resolve) => store.openRaw({ runId, storyKey, attempt: 1 }).end(text, () => resolve())),
    async addRunningRun(runId, stories, ...more) {
      const { repository, repo } = await makeCommit('candidate');
      const first = { ...created(runId, stories), repo };
      await addRun([first, { type: 'run.started' }, ...attempted('US-001'), ...more]);
      return repository;
    },
    async addLandedRun(runId, { stories = 1, acceptance = [] } = {}) {
      const { repository, commit, gitDir, repo } = await makeCommit(`halo/${runId}`);
      await updateMirror({ home, name: repo.mirror, from: gitDir, commit });
      const { prd, ...first } = created(runId, stories);
      const landed = prd.stories.flatMap(({ id }) =>
        passed(id).map((entry) => (entry.type === 'story.ended' ? { ...entry, commit } : entry)),
      );
      const detail = `${stories} of ${stories} stories passed`;
      const end = { type: 'run.ended', stopReason: 'SUCCESS', detail } as const;
      const demanded = prd.stories.map((each) => ({ ...each, acceptance }));
      const start = { ...first, prd: { ...prd, stories: demanded }, repo };
      await addRun([start, { type: 'run.started' }, ...landed, end]);
      return repository;
    },
    async addHeldRun(runId, change) {
      const { repository, commit, gitDir, repo } = await makeCommit('candidate', change);
      const { protectedPaths = [], acceptance = [], title = 'Story number 1', events = [] } = change ?? {};
      const story = held('US-001').flatMap((entry) =>
        entry.type === 'story.ended' ? [...events, { ...entry, held: { commit, paths: protectedPaths } }] : [entry],
      );
      const { prd, ...first } = created(runId, 1);
      const stories = prd.stories.map((each) => ({ ...each, acceptance, title }));
      await addRun([{ ...first, prd: { ...prd, stories }, repo }, { type: 'run.started' }, ...story]);
      const { state } = await operations.getRun({ runId });
      const mirrorDir = join(home, 'repos', repo.mirror, 'mirror.git');
      await holdCommit({ candidateDir: gitDir, mirrorDir, runId, storyKey: state.stories[0]!.key, commit });
      repository.git('branch', '-qD', 'candidate');
      return repository;
    },
    async remove() {
      await operations.close();
      for (const repository of repositories) repository.remove();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
