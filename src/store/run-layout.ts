import { join } from 'node:path';
import { HaloError } from '../core/failure/errors.ts';
import { RUN_ID } from '../lib/run-id.ts';

/** The paths of one run's files. They are absolute when HALO_HOME is. */
export interface RunPaths {
  dir: string;
  record: string;
  journal: string;
  raw: string;
  log: string;
  progress: string;
  history: string;
  checkpoint: string;
  artifacts: string;
  bundle: string;
  lock: string;
}

/** One attempt at one story of a run. `storyKey` comes from core/run/story-key.ts. */
export interface AttemptLocation {
  runId: string;
  storyKey: string;
  attempt: number;
}

export function runsFolder(home: string): string {
  return join(home, 'runs');
}

/** The paths of a run. Throws RUN_NOT_FOUND for text that is not a run id, so that no path leaves HALO_HOME. */
export function runPaths(home: string, runId: string): RunPaths {
  if (!RUN_ID.test(runId)) throw new HaloError('RUN_NOT_FOUND', `"${runId.slice(0, 64)}" is not a run id.`);
  return pathsIn(join(runsFolder(home), runId));
}

export function pathsIn(dir: string): RunPaths {
  return {
    dir,
    record: join(dir, 'run.json'),
    journal: join(dir, 'journal.jsonl'),
    raw: join(dir, 'events.jsonl'),
    log: join(dir, 'agent.log'),
    progress: join(dir, 'progress.md'),
    history: join(dir, 'history.md'),
    checkpoint: join(dir, 'checkpoints', 'state.json'),
    artifacts: join(dir, 'artifacts'),
    bundle: join(dir, 'debug_bundle'),
    lock: join(dir, '.lock'),
  };
}

/** The path of an artifact. `name` may contain folders (`gates/1.log`) and only plain characters. Throws INTERNAL. */
export function artifactPath(home: string, location: AttemptLocation, name: string): string {
  const { artifacts } = runPaths(home, location.runId);
  const isValid =
    /^[a-z0-9-]{1,64}$/.test(location.storyKey) &&
    Number.isInteger(location.attempt) &&
    location.attempt > 0 &&
    name.split('/').every((part) => /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(part));
  if (!isValid)
    throw new HaloError('INTERNAL', `${location.storyKey}/${location.attempt}/${name} is not an artifact name.`);
  return join(artifacts, location.storyKey, String(location.attempt), name);
}
