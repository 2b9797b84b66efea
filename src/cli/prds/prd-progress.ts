import { realpath } from 'node:fs/promises';
import type { Operations } from '../../api/operations.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import type { RunState } from '../../core/run/state.ts';
import { sortStories } from '../../core/run/story-order.ts';
import type { Cli } from '../cli.ts';
import { parsePrdFile, readPrd, type NamedPrd } from '../options/read-prd.ts';
import { runWords } from '../../view/run-words.ts';

interface StoryName {
  id: string;
  title: string;
}

/** The progress of a PRD. */
export interface PrdFileProgress extends NamedPrd {
  project: string;
  done: number;
  total: number;
  /** Stories that have started but not landed, according to the file, and those that the newest run is executing. */
  active: StoryName[];
  /** The story that the next run starts with: a started one, else the one with the lowest priority. */
  next: StoryName | undefined;
  /** The newest run of the file; `state` is the state in `halo ls`. */
  run: { runId: string; status: RunState['status']; stopReason: RunState['stopReason']; state: string } | undefined;
}

/** Reads a PRD, and its newest run. Throws PRD_INVALID and PRD_UNREADABLE. */
export async function readPrdProgress(
  { name, path }: NamedPrd,
  operations: Pick<Operations, 'listRuns'>,
  cli: Cli,
): Promise<PrdFileProgress> {
  const { project, stories } = await parsePrdFile(await readPrd(path, cli));
  const newest = await findNewestRun(operations, new Set([path, await realpath(path)]));
  const ordered = sortStories(stories);
  // Not every dialect has a field for a started story.
  const active = ordered.filter(
    ({ id, status }) => status === 'in_progress' || (status === 'pending' && isAt(newest, id)),
  );
  const open = ordered.filter(({ status }) => status === 'in_progress' || status === 'pending');
  const done = stories.filter(({ status }) => status === 'done').length;
  const run = newest && factsOf(newest);
  return { name, path, project, done, total: stories.length, active: active.map(named), next: open.map(named)[0], run };
}

/** A run knows the path by which its file was submitted. */
async function findNewestRun(
  operations: Pick<Operations, 'listRuns'>,
  paths: ReadonlySet<string>,
): Promise<ListedRun | undefined> {
  const found = await Promise.all([...paths].map((prd) => operations.listRuns({ prd, newest: 1 })));
  const runs = found.flatMap(({ runs }) => runs).filter(({ prdPath }) => paths.has(prdPath));
  return runs.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))[0];
}

function isAt(run: RunState | undefined, id: string): boolean {
  if (run === undefined || run.status === 'ended') return false;
  return run.stories.some((story) => story.id === id && story.progress === 'in_progress');
}

function factsOf(run: ListedRun) {
  const { runId, status, stopReason } = run;
  return { runId, status, stopReason, state: runWords(run).text };
}

function named({ id, title }: StoryName): StoryName {
  return { id, title };
}
