import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { scripted } from '../halo/halo.ts';
import { openHome, type Ended, type HaloHome } from '../halo/halo-process.ts';
import { makeRepository, type TestRepository } from '../repository/repository.ts';
import { callHalo } from '../terminal/call-halo.ts';

/** What of run.json the contract asks for. */
export interface RunRecord {
  contractVersion: string;
  runId: string;
  status: string;
  startTime: string | null;
  endTime: string | null;
  stopReason: string | null;
  exitStatus: number | null;
  detail: string | null;
  repo: { path: string; branch: string | null; headSha: string | null };
  prd: { path: string; hash?: string; specHash?: string };
  agent: { name: string | null; version: string | null; features?: string[]; help?: string };
  args: string[];
  config: { agent?: string; gates?: string[]; limits?: { cpus: number; pids: number } };
  progress: {
    completed: string[];
    current: string | null;
    next: string | null;
    stories: { id: string; attempts: number; progress: string; stopReason: string | null }[];
  };
}

/** A HALO_HOME, and `halo run` in repositories of its own. */
export interface HanumanWorld {
  home: HaloHome;
  aRepository(): TestRepository;
  /** `halo run` in this process. */
  run(repository: TestRepository, words: string[], env?: Record<string, string>): Promise<Ended>;
  /** Runs a command line of halo in this process. */
  call(words: string[], cwd: string, env?: Record<string, string>): Promise<Ended>;
}

/** Closed after the tests of the file. */
export function openWorld(): HanumanWorld {
  const home = openHome();
  const repositories: TestRepository[] = [];
  afterAll(async () => {
    await home.close();
    for (const repository of repositories) repository.remove();
  });
  const call: HanumanWorld['call'] = (words, cwd, env = {}) =>
    callHalo(words, { cwd, env: { HALO_HOME: home.dir, ...env } });
  return {
    home,
    aRepository() {
      const repository = makeRepository();
      repositories.push(repository);
      return repository;
    },
    run: ({ root }, words, env) => call(['run', ...words], root, env),
    call,
  };
}

/** A story of the contract's form. */
export const story = (id: string, more: object = {}) => ({
  id,
  title: `Title of ${id}`,
  size: 'S',
  acceptance: ['It works.'],
  ...more,
});
export const TWO = [story('S-1'), story('S-2', { size: 'M' })];

/** Writes a PRD of the contract's form beside the repository. */
export function writePrd(repository: TestRepository, stories: object[], more: object = {}): string {
  const path = join(dirname(repository.root), 'prd.json');
  writeFileSync(path, JSON.stringify({ schemaVersion: '0.1', project: 'Shop', stories, ...more }, null, 2));
  return path;
}

/** The contract's flags for settings. */
export const settings = (script: string, more: string[] = []) =>
  scripted(script, ['true'], more).flatMap((pair) => ['-c', pair]);

/** The run directory that a command names on the last line of stdout. */
export const directoryOf = ({ stdout }: Ended) => stdout.trimEnd().split('\n').at(-1) ?? '';
export const read = (dir: string, name: string) => readFileSync(join(dir, name), 'utf8');
export const recordOf = (dir: string, folder = '.') => JSON.parse(read(dir, join(folder, 'run.json'))) as RunRecord;

/** What is in every run directory; the debug bundle may be empty. */
export function expectStructure(dir: string): void {
  for (const name of [
    'run.json',
    'journal.jsonl',
    'events.jsonl',
    'checkpoints/state.json',
    'artifacts',
    'debug_bundle',
  ])
    expect(existsSync(join(dir, name)), name).toBe(true);
}

/** A refusal has its own run directory, which says why and has a debug bundle. */
export function expectRefused(home: HaloHome, end: Ended, code: number, stopReason: string, says: string): string {
  expect(end.stderr).toContain(says);
  expect(end.code).toBe(code);
  const dir = directoryOf(end);
  expect(dirname(dir)).toBe(join(home.dir, 'runs'));
  expectStructure(dir);
  expect(recordOf(dir)).toMatchObject({ status: 'ended', stopReason, exitStatus: code });
  expect(recordOf(dir).detail).toContain(says);
  expect(recordOf(dir).endTime).not.toBeNull();
  expect(recordOf(dir, 'debug_bundle')).toMatchObject({ stopReason });
  expect(read(dir, 'debug_bundle/summary.md')).toContain(says);
  expect(read(dir, 'debug_bundle/events.tail.jsonl')).toBe('');
  expect(existsSync(join(dir, 'debug_bundle/git-status.txt'))).toBe(true);
  return dir;
}
