import type { JournalEntry } from '../../../core/journal/events.ts';
import type { RunState } from '../../../core/run/state.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { diffCommits } from '../../../git/commit/read-commits.ts';
import { moveBranch, transferCommit } from '../../../git/land/land-commit.ts';
import { mergeOnto } from '../../../git/land/merge-commits.ts';
import { writeProofNote } from '../../proof/proof-files.ts';
import { runRef } from '../../repository/host-repository.ts';
import { recoverOthers } from '../../run/recover-landed.ts';
import { shareLayers } from '../../snapshot/open-layer.ts';
import { assertCurrent } from '../attempt-journal.ts';
import { AttemptEnded, storyEnded, type AttemptOutcome } from '../attempt-outcome.ts';
import { keepChange } from '../kept-change.ts';
import type { Attempt, SnapshotLayer } from '../open-attempt.ts';
import { assertLockedTests } from '../tests-first/locked-tests.ts';
import type { Work } from '../work.ts';
import { commitTree } from './import-candidate.ts';

/** `overtaken`: another story of the run landed first, so nothing has moved; `tip` is the newest commit now. */
type Landing = { kind: 'landed'; outcome: AttemptOutcome } | { kind: 'overtaken'; tip: string };

/**
 * Transfers the candidate's objects into the host repository. Then, in one transaction of the run's journal, it moves the
 * run's branch by compare-and-swap and records the landing, so that a command that ends the run comes before or after
 * both. From then on, all runs can use `layer`, the snapshot of its gates, if it was made of this commit. Throws RUN_ABORTED if another worker took over the attempt, and CONFLICT if someone else moved the branch.
 */
export async function landCandidate(
  attempt: Attempt,
  { candidate, origin, summary }: Work,
  layer: SnapshotLayer | undefined,
): Promise<Landing> {
  const { identity, inputs, config, worker, resources, signal } = attempt;
  const { candidateDir, mirrorDir } = resources;
  const { hostGitDir } = inputs;
  const { commit, parent } = candidate;
  const { approval } = origin;
  const { runId, location } = identity;
  const started = performance.now();
  await attempt.journal.report({ type: 'phase.started', phase: 'land' });
  const landing = {
    candidateDir,
    mirrorDir,
    hostGitDir,
    ref: runRef(runId),
    commit,
    parent,
    expected: parent === inputs.state.repo.base ? undefined : parent,
  };
  const release = await transferCommit(landing);
  const { usage } = origin;
  const outcome: AttemptOutcome = { verdict: 'passed', stopReason: 'SUCCESS', summary, commit, usage };
  const landed = worker.store.transact<Landing>(runId, async (now) => {
    assertCurrent(now, identity);
    // No commit may appear after a person stopped the run.
    signal.throwIfAborted();
    if (now.tip !== parent) return { entries: [], result: { kind: 'overtaken', tip: now.tip } };
    const recovered = await moveBranch(landing).then(
      () => [],
      (error: unknown) => recoverOthers(worker, { state: now, story: identity.story, hostGitDir, config }, error),
    );
    if (recovered.length > 0)
      return { entries: recovered, result: { kind: 'overtaken', tip: tipAfter(recovered, now) } };
    const attemptRef = { story: identity.story, attempt: identity.attempt };
    const proof = { store: worker.store, location, attemptRef, gitDir: hostGitDir, commit, git: config.git };
    const noted = await writeProofNote({ ...proof, ...(approval && { approvedBy: approval.by }) });
    const ms = Math.round(performance.now() - started);
    const ended: JournalEntry = { type: 'phase.ended', phase: 'land', ms, ...attemptRef };
    return {
      entries: [ended, ...noted, storyEnded(attemptRef, outcome, { verdict: 'passed' })],
      result: { kind: 'landed', outcome },
    };
  });
  // oxlint-disable-next-line typescript/no-misused-promises -- `finally` waits for the promise
  const result = await landed.finally(release);
  if (result.kind === 'landed') await shareLayers(attempt, layer, commit);
  return result;
}

function tipAfter(entries: JournalEntry[], { tip }: RunState): string {
  return entries.reduce((newest, entry) => (entry.type === 'story.ended' ? (entry.commit ?? newest) : newest), tip);
}

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
  const { resources, journal, signal } = attempt;
  const { candidate, origin, summary, merges, locked } = work;
  const { candidateDir } = resources;
  await resources.exposeCommit(onto);
  const merged = await mergeOnto({ candidateDir, commit: candidate.commit, onto, signal });
  if (merged.kind === 'conflict') throw conflictIn(merged.paths);
  const { tree, changed } = merged;
  const commit = await commitTree(attempt, { tree, parent: onto, summary });
  await assertLockedTests(attempt, locked, commit);
  const patch = diffCommits({ gitDir: candidateDir, from: onto, to: commit });
  await keepChange(attempt, { commit, parent: onto, patch });
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
