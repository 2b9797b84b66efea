import { readFile } from 'node:fs/promises';
import { inOrder } from '../../core/story-order.ts';
import type { Cli } from '../cli.ts';
import type { NamedPrd } from '../named-prds.ts';

interface StoryName {
  id: string;
  title: string;
}

/** How far a PRD is, as its file says. */
export interface PrdStanding extends NamedPrd {
  project: string;
  done: number;
  total: number;
  /** Stories that were begun and have not landed. */
  active: StoryName[];
  /** What the next run takes first: a story that was begun, else the one with the lowest priority. */
  next: StoryName | undefined;
}

/** Reads a PRD. Throws PRD_INVALID and what reading the file throws. */
export async function standingOf({ name, path }: NamedPrd, cli: Cli): Promise<PrdStanding> {
  const bytes = new Uint8Array(await readFile(path));
  const { project, stories } = await cli.services.parsePrd({ path, bytes, as: undefined });
  const ordered = inOrder(stories);
  const active = ordered.filter(({ status }) => status === 'in_progress');
  const open = ordered.filter(({ status }) => status === 'in_progress' || status === 'pending');
  const done = stories.filter(({ status }) => status === 'done').length;
  return { name, path, project, done, total: stories.length, active: active.map(named), next: open.map(named)[0] };
}

function named({ id, title }: StoryName): StoryName {
  return { id, title };
}
