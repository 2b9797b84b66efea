import { addUsage } from '../../../core/agent.ts';
import { HaloError, toHaloError } from '../../../core/failure/errors.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { diffCommits } from '../../../git/commit/read-commits.ts';
import { CANDIDATE, VIEW } from '../../workspace/sandbox-paths.ts';
import { planCleanSteps, planWorkSteps } from '../../workspace/step-plan.ts';
import { Workspace } from '../../workspace/workspace.ts';
import { SILENT_JOURNAL, type AttemptEntry, type AttemptJournal } from '../attempt-journal.ts';
import { AttemptEnded, attemptFailed, withCause, Measurements } from '../attempt-outcome.ts';
import { keepChange } from '../kept-change.ts';
import type { Attempt } from '../open-attempt.ts';
import { readWorkspace } from '../phases/export-tree.ts';
import { findImportFailure, importWork } from '../phases/import-candidate.ts';
import { runAgent } from '../phases/run-agent.ts';
import { runGates, type PassedGates } from '../phases/run-gates.ts';
import { setUp } from '../phases/run-setup.ts';
import { hasChanges, type Candidate, type ImplementedWork, type Work } from '../work.ts';
import { assertLockedTests } from './locked-tests.ts';
import { inFolder, withTestsGate } from './tests-attempt.ts';

/** Work that passed its gates, and their results. */
export interface GatedWork<W extends ImplementedWork> {
  work: W | Work;
  gates: PassedGates;
}

const FOLDER = 'refactor';

/**
 * If work has passed its gates for the first time and `tests.refactor` is set, an agent refactors it. The result is kept only if the
 * locked tests are unchanged and everything passes again: otherwise the work lands as it was.
 */
export async function refactor<W extends ImplementedWork>(
  attempt: Attempt,
  green: GatedWork<W>,
  measured: Measurements,
): Promise<GatedWork<W>> {
  const { work } = green;
  const { locked, origin, merges } = work;
  const isWanted = attempt.config.tests.refactor && locked !== undefined && origin.approval === undefined;
  if (!isWanted || merges > 0 || !hasChanges(work)) return green;
  const { journal } = attempt;
  const own = new Measurements();
  const withUsage = (each: Work): Work => ({
    ...each,
    origin: { ...origin, usage: addUsage(origin.usage, own.current.usage) },
  });
  return journal.phase('refactor', async () => {
    try {
      const { refactored, gates, entries } = await refactorAndGate(attempt, work, own);
      await journal.report(...entries, { type: 'refactor.ended', kept: true });
      return { work: withUsage(refactored), gates };
    } catch (error) {
      if (isOver(attempt, error)) throw error;
      const unchanged = error instanceof AttemptEnded && error.outcome.cause === 'no-changes';
      const why = safeLine(describeFailure(error), 500);
      await journal.report({ type: 'refactor.ended', kept: false, why, ...(unchanged && { unchanged }) });
      return { work: withUsage(work), gates: green.gates };
    } finally {
      measured.addUsage(own.current.usage);
    }
  });
}

interface Refactored {
  refactored: Work;
  gates: PassedGates;
  /** What the journal gets if the result is kept. */
  entries: AttemptEntry[];
}

async function refactorAndGate(attempt: Attempt, work: Work, measured: Measurements): Promise<Refactored> {
  const { candidateDir } = attempt.resources;
  const { parent } = work.candidate;
  const session = asRefactorAttempt(attempt, work);
  const workspace = new Workspace(session, FOLDER, planWorkSteps(session));
  await workspace.checkOut(work.candidate.commit, candidateDir, [VIEW, CANDIDATE]);
  const exporter = await setUp({ ...session, journal: SILENT_JOURNAL }, workspace, work.candidate.commit);
  await exporter.ready;
  await runAgent(session, workspace, { measured });
  const { journal, entries } = openPendingJournal();
  const pending = { ...session, journal };
  const candidate = await journal.phase('import', async () => {
    const found = await importWork(pending, await readWorkspace(pending, exporter), work.summary);
    return requireOther(attempt, found, work);
  });
  await assertLockedTests(pending, work.locked, candidate.commit);
  const { origin, summary, merges, locked } = work;
  const clean = new Workspace(pending, 'refactored', planCleanSteps(withTestsGate(pending, locked)));
  const refactored: Work = {
    ...{ candidate, origin, summary, merges, locked, clean },
    gatesFolder: `${FOLDER}/gates`,
  };
  const gates = await runGates({ ...attempt, journal }, refactored);
  const patch = diffCommits({ gitDir: candidateDir, from: parent, to: candidate.commit });
  await keepChange(attempt, { commit: candidate.commit, parent, patch });
  return { refactored, gates, entries };
}

/** Throws unless the agent has changed something that may land. */
function requireOther({ config }: Attempt, found: Candidate | undefined, { candidate, summary }: Work): Candidate {
  if (found === undefined || found.tree === candidate.tree)
    throw withCause('no-changes', attemptFailed('INVALID_OUTPUT', 'the agent changed nothing'));
  const end = findImportFailure(found, config, summary);
  if (end !== undefined) throw end;
  return found;
}

/** The attempt as the agent sees it that refactors: it starts from the green candidate, and its change has the same parent. */
function asRefactorAttempt(attempt: Attempt, { candidate, locked }: Work): Attempt {
  const { journal, inputs, worker } = attempt;
  return {
    ...attempt,
    task: 'refactor',
    locked,
    inputs: { ...inputs, base: candidate.parent },
    worker: { ...worker, store: inFolder(worker.store, FOLDER) },
    // The phase has begun already.
    journal: { ...journal, phase: (_phase, action) => action() },
  };
}

/** A journal whose entries are only returned. */
function openPendingJournal(): { journal: AttemptJournal; entries: AttemptEntry[] } {
  const entries: AttemptEntry[] = [];
  const journal: AttemptJournal = {
    report: (...more) => Promise.resolve(void entries.push(...more)),
    phase: async (phase, action) => {
      const started = performance.now();
      entries.push({ type: 'phase.started', phase });
      const result = await action();
      entries.push({ type: 'phase.ended', phase, ms: Math.round(performance.now() - started) });
      return result;
    },
  };
  return { journal, entries };
}

/** Whether the attempt itself is over, so that nothing may land. */
function isOver({ signal }: Attempt, error: unknown): boolean {
  if (error instanceof AttemptEnded) return error.outcome.stopReason === 'USER_ABORT';
  return signal.aborted || (error instanceof HaloError && error.code === 'RUN_ABORTED');
}

function describeFailure(error: unknown): string {
  if (error instanceof AttemptEnded) {
    const { stopReason, summary } = error.outcome;
    return `${stopReason}: ${summary}`;
  }
  const { stopReason, message } = toHaloError(error);
  return stopReason === undefined ? message : `${stopReason}: ${message}`;
}
