import { join, relative } from 'node:path';
import { HaloError } from '../../../core/failure/errors.ts';
import type { Flag } from '../../../core/review/flags.ts';
import type { StoryState } from '../../../core/run/state.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { StopReason } from '../../../core/failure/stop-reason.ts';
import type { RepoInfo } from '../../../git/repository/inspect-repo.ts';
import type { RunView } from '../../../api/operations/runs.ts';
import type { Operations } from '../../../api/operations.ts';
import type { RunnableTask } from './runnable-task.ts';
import { judgeEnd, type Judged } from './task-outcome.ts';
import { type RunFolder, taskName } from './run-folder.ts';
import { writeProgress } from './tasks-file.ts';
import { pathExists } from '../../../lib/fs.ts';
import { listSome } from '../../../lib/text.ts';
import { createBranch } from '../../../git/land/fast-forward.ts';
import { restoreStash, stashChanges, type RestoreFailure } from '../../../git/repository/stash.ts';

/** A run that has ended, while the operations are still open. */
export interface EndedRun {
  operations: Operations;
  runId: string;
  view: RunView;
  /** Undefined if it was detached from while it was running. */
  end: StopReason | undefined;
}

interface Finishing {
  /** `runAttempts` counts this run. */
  task: RunnableTask;
  run: EndedRun;
  folder: RunFolder;
  places: { tasks: string };
  repo: RepoInfo;
  confirm: Flag[] | undefined;
  log: (line: string) => Promise<void>;
}

const MAX_NOTE_LENGTH = 500;

/** Records the outcome of a task, lands it if it is completed, and returns the exit code. */
export async function finishTask({ task, run, folder, places, repo, confirm, log }: Finishing): Promise<number> {
  const { view, end } = run;
  const [story] = view.state.stories;
  const stamp = (status: Judged['status'], last_note: string, more: { run_attempts?: number } = {}) =>
    writeProgress(places.tasks, task.id, {
      status,
      observability: { last_update_utc: new Date().toISOString(), last_note, ...more },
    });
  if (story === undefined || end === undefined) {
    await stamp('started', `interrupted; run ${run.runId} continues without this process`);
    throw new HaloError('RUN_ABORTED', `${task.id} was left unfinished.`);
  }
  const artifacts = join(view.dir, 'artifacts', story.key, String(Math.max(1, story.attempts)));
  await folder.keepPrompt(join(artifacts, 'prompt.md'));
  const tests = await readTests(run);
  for (const { command, exitCode, log: name } of tests)
    await log(`${exitCode === 0 ? 'passed' : 'failed'}: ${command} (log: ${join(artifacts, name)})`);
  await folder.keepVerification(tests.map(({ command, log: name }) => ({ command, path: join(artifacts, name) })));
  const answered = await pathExists(join(artifacts, 'result.json'));
  const failure = story.lastFailure;
  const judged = judgeEnd({ stopReason: end, answered, runAttempts: task.runAttempts, failure });
  const note = safeLine(story.summary ?? view.state.detail ?? end, MAX_NOTE_LENGTH);
  if (answered) await folder.keepResult(describeResult(judged, { taskId: task.id, story, tests, note }));
  const sayHow = () =>
    log(
      `${task.id} is proven, but not on ${repo.branch}: once \`halo land ${run.runId}\` has put it there, set its status to "completed" in ${places.tasks}`,
    );
  let aside: Aside | undefined;
  try {
    // A task that the repository fulfils already has no commit.
    if (judged.status === 'completed' && story.commit !== undefined)
      aside = await land({ task, run, repo, places, confirm, log });
  } catch (error) {
    await sayHow();
    await stamp('started', `completed, but not landed: ${error instanceof Error ? error.message : String(error)}`);
    throw error;
  }
  await stamp(judged.status, note, judged.uncounted && { run_attempts: task.runAttempts - 1 });
  await log(`${task.id} is ${judged.status}: ${note}`);
  if (story.held !== undefined) await sayHow();
  if (aside !== undefined) throw notRestored(aside, repo);
  return judged.exit;
}

/** Uncommitted changes that are still in `git stash list`. */
interface Aside {
  /** The commit of the stash. */
  commit: string;
  failure: RestoreFailure;
}

/** The next task would stash what it finds in the checkout, and bury these changes. */
function notRestored({ commit, failure }: Aside, { root }: RepoInfo): HaloError {
  const what =
    'conflicts' in failure
      ? `conflict with its commit in ${listSome(failure.conflicts, 5)}`
      : `could not be restored: ${failure.reason.replace(/\.$/, '')}`;
  return new HaloError(
    'DIRTY_WORKTREE',
    `Your uncommitted changes of ${root} ${what}. They are in git stash as ${commit.slice(0, 7)}; the checkout has none of them.`,
    {
      hint: `Run \`git stash apply ${commit.slice(0, 7)}\`, resolve the conflicts, then remove the entry with \`git stash drop\`. The next task starts after that.`,
    },
  );
}

/**
 * Sets the branch `ralph/<task>` to the result of a task, and fast-forwards the checked-out branch to it. Uncommitted
 * changes are stashed meanwhile; those that cannot be restored are returned. Throws LAND_REFUSED and UNCONFIRMED; then only the
 * task's own branch has moved.
 */
async function land({ task, run, repo, places, confirm, log }: Omit<Finishing, 'folder'>): Promise<Aside | undefined> {
  const { operations, runId, view } = run;
  const commit = view.state.tip;
  const branch = `ralph/${taskName(task.id)}`;
  await createBranch({ root: repo.root, gitDir: repo.gitDir, branch, commit }).catch(async (error: unknown) => {
    if (!(error instanceof HaloError)) throw error;
    await log(`the branch ${branch} stays as it is: ${error.message}`);
  });
  // It stores progress and is not changed by landing.
  const except = [relative(repo.root, places.tasks)].filter((path) => !path.startsWith('..'));
  const message = `halo: aside while task ${task.id} lands`;
  const stash = await stashChanges(repo.root, { except, message });
  if (stash !== undefined) await log(`uncommitted changes are put aside: git stash, ${stash.commit.slice(0, 7)}`);
  const restore = async (): Promise<Aside | undefined> => {
    const failure = stash && (await restoreStash(stash));
    if (stash !== undefined && failure === undefined) await log('the uncommitted changes are restored');
    return stash && failure && { failure, commit: stash.commit };
  };
  try {
    const landed = await operations.land({ runId, confirm, commit });
    await log(`${landed.branch} is at ${landed.to.slice(0, 7)}`);
  } catch (error) {
    const aside = await restore();
    if (aside !== undefined) await log(notRestored(aside, repo).message);
    throw error;
  }
  return restore();
}

interface Test {
  command: string;
  exitCode: number | undefined;
  log: string;
}

async function readTests({ operations, runId }: EndedRun): Promise<Test[]> {
  const tests: Test[] = [];
  for await (const { event } of await operations.followEvents({ runId, after: 0, follow: false }))
    if (event.type === 'gate.ended') tests.push({ command: event.command, exitCode: event.exitCode, log: event.log });
  return tests;
}

/** The content of `result.json`, with the terms of the tasks file. */
function describeResult(
  { status }: Judged,
  { taskId, story, tests, note }: { taskId: string; story: StoryState; tests: Test[]; note: string },
): object {
  return {
    task_id: taskId,
    outcome: status,
    dod_met: status === 'completed',
    summary: note,
    tests: {
      ran: tests.length > 0,
      commands: tests.map(({ command }) => command),
      passed: tests.length > 0 && tests.every(({ exitCode }) => exitCode === 0),
    },
    notes: note,
    blockers: status === 'blocked' ? [`${story.stopReason ?? 'UNKNOWN_ERROR'}: ${note}`] : [],
  };
}
