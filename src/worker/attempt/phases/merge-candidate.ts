import { safeLine } from '../../../core/text/safe-text.ts';
import { diffCommits } from '../../../git/commit/read-commits.ts';
import { mergeOnto } from '../../../git/land/merge-commits.ts';
import type { Attempt } from '../open-attempt.ts';
import { AttemptEnded } from '../attempt-outcome.ts';
import { assertLockedTests } from '../tests-first/locked-tests.ts';
import type { Work } from '../work.ts';
import { commitTree } from './import-candidate.ts';

/** How often work is merged and gated again because another story landed first. */
const MAX_MERGES = 10;
const MAX_NAMED_PATHS = 5;
const MAX_KEPT_PATHS = 100;

/** Moves new work onto the newest commit of the run, if other stories landed while the agent worked. */
export async function mergeOntoTip(attempt: Attempt, work: Work): Promise<Work> {
  const { candidate, claims, clean, baseline } = work;
  const { tip } = await attempt.worker.store.readState(attempt.identity.runId);
  if (tip === candidate.parent) return work;
  // It was started for another commit.
  baseline?.stop();
  const merged = await mergeCandidate(attempt, work, tip);
  return { ...merged, claims, ...(clean && { clean }) };
}

/** Moves work that passed its gates onto `tip`, because another story landed first. Throws CONFLICT after too many merges. */
export async function mergeWork(attempt: Attempt, work: Work, tip: string): Promise<Work> {
  const merges = work.merges + 1;
  if (merges > MAX_MERGES) throw tooManyMerges();
  return { ...(await mergeCandidate(attempt, work, tip)), merges };
}

/** Applies the change of a candidate to another commit of the run. The new commit has passed no gates yet. */
async function mergeCandidate(attempt: Attempt, work: Work, onto: string): Promise<Work> {
  const { worker, identity, resources, journal, signal } = attempt;
  const { candidate, origin, summary, merges, locked } = work;
  const { candidateDir } = resources;
  await resources.exposeCommit(onto);
  const merged = await mergeOnto({ candidateDir, commit: candidate.commit, onto, signal });
  if (merged.kind === 'conflict') throw conflictIn(merged.paths);
  const { tree, changed } = merged;
  const commit = await commitTree(attempt, { tree, parent: onto, summary });
  await assertLockedTests(attempt, locked, commit);
  await worker.store.writePatch(identity.location, await diffCommits({ gitDir: candidateDir, from: onto, to: commit }));
  await journal.report({ type: 'story.merged', commit: candidate.commit, onto, merged: commit });
  return {
    gatesFolder: `gates/onto-${onto.slice(0, 12)}`,
    origin,
    candidate: { ...candidate, commit, parent: onto, tree, changed },
    summary,
    merges,
    locked,
  };
}

function tooManyMerges(): AttemptEnded {
  return new AttemptEnded({
    verdict: 'failed',
    stopReason: 'CONFLICT',
    summary: `other stories landed ${MAX_MERGES} times while its gates ran`,
    conflicts: [],
  });
}

/** The next attempt starts from the commit that has landed; `tail` becomes part of its prompt. */
export function conflictIn(paths: string[]): AttemptEnded {
  const shown = paths.slice(0, MAX_KEPT_PATHS).map((path) => safeLine(path));
  const named = shown.slice(0, MAX_NAMED_PATHS).join(', ') + (paths.length > MAX_NAMED_PATHS ? ', …' : '');
  return new AttemptEnded({
    verdict: 'failed',
    stopReason: 'CONFLICT',
    summary: `another story that landed in the meantime changed the same places: ${named}`,
    conflicts: shown,
    tail: `Stories that landed in the meantime changed the same places of these files:\n${shown.join('\n')}\nThe repository contains their changes now. Make your changes again, on top of them.\n`,
  });
}
