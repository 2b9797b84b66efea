import { safeLine } from '../../core/safe-text.ts';
import { diffCommits } from '../../git/commit/commit-diff.ts';
import { mergeOnto } from '../../git/land/merge-commits.ts';
import type { Attempt } from '../attempt-context.ts';
import { AttemptOver } from '../story-end.ts';
import { commitTree, type Candidate } from './import.ts';

/** A candidate, and the attempt as seen from the commit that it builds on. */
export interface Based {
  attempt: Attempt;
  candidate: Candidate;
}

const NAMED_PATHS = 5;
const KEPT_PATHS = 100;

/** On the newest commit of the run: as it is, or merged onto what landed while the agent worked. */
export async function mergeWithTip(attempt: Attempt, candidate: Candidate, summary: string): Promise<Based> {
  const { tip } = await attempt.worker.store.readState(attempt.runId);
  return tip === candidate.parent ? { attempt, candidate } : mergeCandidate({ attempt, candidate }, tip, summary);
}

/** The change of a candidate on another commit of the run, as a commit of its own that nothing has proven yet. */
export async function mergeCandidate({ attempt, candidate }: Based, onto: string, summary: string): Promise<Based> {
  const { candidateDir, signal, worker, place } = attempt;
  await attempt.seeCommit(onto);
  const merged = await mergeOnto({ candidateDir, commit: candidate.commit, onto, signal });
  if (merged.kind === 'conflict') throw refuseConflict(merged.paths);
  const { tree, changed } = merged;
  const commit = await commitTree(attempt, { tree, parent: onto, summary });
  await worker.store.writePatch(place, await diffCommits({ gitDir: candidateDir, from: onto, to: commit }));
  await attempt.report({ type: 'story.merged', commit: candidate.commit, onto, merged: commit });
  return {
    attempt: { ...attempt, base: onto, gatesFolder: `gates/onto-${onto.slice(0, 12)}` },
    candidate: { ...candidate, commit, parent: onto, tree, changed },
  };
}

/** What the next attempt is told: it begins on what has landed. */
function refuseConflict(paths: string[]): AttemptOver {
  const shown = paths.slice(0, KEPT_PATHS).map((path) => safeLine(path));
  const named = shown.slice(0, NAMED_PATHS).join(', ') + (paths.length > NAMED_PATHS ? ', …' : '');
  return new AttemptOver({
    verdict: 'failed',
    stopReason: 'CONFLICT',
    summary: `another story that landed meanwhile changed the same places: ${named}`,
    conflicts: shown,
    tail: `Stories that landed in the meantime changed the same places of these files:\n${shown.join('\n')}\nThe repository holds their changes now. Make yours again, on top of them.\n`,
  });
}
