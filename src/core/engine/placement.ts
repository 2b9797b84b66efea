import { mayUseRepository } from '../access/access.ts';
import type { Submission } from '../journal/run-created.ts';
import { LOCAL_ENGINE } from './engine-address.ts';

/** For which runs a configured engine is. */
export interface EngineRules {
  name: string;
  /** Absent: none. */
  labels?: readonly string[] | undefined;
  /** The only repositories, by path or address; `*` stands for any text. Absent: all. */
  repositories?: readonly string[] | undefined;
  /** The only users whose runs it executes. Absent: all. */
  users?: readonly string[] | undefined;
}

/** What decides on which engines the stories of a run may be executed. */
export type PlacedRun = Pick<Submission, 'user' | 'repo' | 'engineLabels'>;

/** The names of the engines that may execute the stories of a run. The engine of the environment has no labels. */
export function enginesFor(run: PlacedRun, configured: readonly EngineRules[]): string[] {
  const local = run.engineLabels === undefined ? [LOCAL_ENGINE] : [];
  return [...local, ...configured.filter((engine) => isFor(engine, run)).map(({ name }) => name)];
}

function isFor(
  { labels = [], repositories, users }: EngineRules,
  { user, repo, engineLabels = [] }: PlacedRun,
): boolean {
  return (
    engineLabels.every((label) => labels.includes(label)) &&
    (users?.includes(user) ?? true) &&
    mayUseRepository({ repositories }, repo.source)
  );
}

/** The labels for which a run asks, as part of a sentence: `the label "gpu"`. */
export function labelsText(labels: readonly string[]): string {
  return `the ${labels.length === 1 ? 'label' : 'labels'} ${labels.map((label) => `"${label}"`).join(' and ')}`;
}
