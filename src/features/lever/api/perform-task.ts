import { basename, dirname, join } from 'node:path';
import type { Config, Host } from '../../../config/config.ts';
import { imageAdvice, plainProgramsOf } from '../../../core/command-needs.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { inspectRepo, type RepoInfo } from '../../../git/repository/inspect-repo.ts';
import { findUnfinishedOperation, listUnmerged } from '../../../git/repository/worktrees.ts';
import { readRegularText } from '../../../lib/fs.ts';
import { sleep } from '../../../lib/async.ts';
import { LockBusyError, withLock } from '../../../lib/lock.ts';
import { capitalize, listSome } from '../../../lib/text.ts';
import { MAX_PRD_BYTES } from '../../../prd/decode-prd.ts';
import type { Flag } from '../../../core/review/flags.ts';
import { openDockerEngine } from '../../../sandbox/docker/engine.ts';
import { readProgramVersions } from '../../../sandbox/probe-agent.ts';
import type { SubmitRequest } from '../../../api/operations/schemas.ts';
import type { Operations } from '../../../api/operations.ts';
import { readConfig } from '../../../api/repository/repo-config.ts';
import { requireRunnableTask, type RunnableTask } from './runnable-task.ts';
import { chooseTask, describeHuman } from './choose-task.ts';
import { finishTask, type EndedRun } from './finish-task.ts';
import { MAX_RUN_ATTEMPTS } from './task-outcome.ts';
import { resolvePlaces, type Places, type Where } from './task-paths.ts';
import {
  addRequests,
  delayFor,
  estimateTokens,
  limitOf,
  readRateCache,
  recentRequests,
  writeRateCache,
  type RateLimit,
} from './session-rate.ts';
import { openRalphFolder, openRunFolder } from './run-folder.ts';
import { taskPrd } from './task-prd.ts';
import { readTasks, resetTask, writeProgress, type Task } from './tasks-file.ts';
import { findVerification } from './verification.ts';

interface TaskOptions extends Where {
  /** Id of the task, which must be the next one; by default the next one. */
  taskId?: string | undefined;
  /** Start from the beginning, as if the task had never run. */
  reset: boolean;
  /** What the result may be flagged for and still land. */
  confirm?: Flag[] | undefined;
}

/** Executes one run on this machine; `begin` is called before its first step, `finish` after its end. */
type Execute = <T>(
  request: SubmitRequest,
  steps: { begin: (runId: string, operations: Operations) => Promise<void>; finish: (run: EndedRun) => Promise<T> },
) => Promise<T>;

interface TaskWorld {
  host: Host;
  execute: Execute;
  log: (line: string) => Promise<void>;
}

/** Runs the next task as a separate run and returns the exit code. Throws errors that prevent its start. */
export async function performTask(options: TaskOptions, world: TaskWorld): Promise<number> {
  const { log } = world;
  const places = await resolvePlaces(options);
  const choice = chooseTask(await readTasks(places.tasks), options.taskId);
  if (choice.kind === 'none') {
    await log(`no runnable task: all of ${places.tasks} are completed`);
    return 3;
  }
  if (choice.kind === 'human') {
    await log(`human input required: ${describeHuman(choice.task, places.tasks)}`);
    return 4;
  }
  const repo = await inspectRepo(places.workspace);
  await assertCanLand(repo);
  const task = requireRunnableTask(options.reset ? resetTask(choice.task) : choice.task);
  if (task.runAttempts >= MAX_RUN_ATTEMPTS) return blockTask(task, { places, log });
  const { config } = await readConfig({ host: world.host, folder: places.workspace, profile: undefined, set: [] });
  const folder = await openRalphFolder(places.workspace);
  const rate = { path: join(folder, 'rate_limit.json'), limit: limitOf(task.model, config.rate[task.model]) };
  return withTaskLock(folder, places.tasks, async () => {
    await assertStillNext(places.tasks, choice.task);
    const request = await describeRun(task, { places, repo, config });
    await waitForRate(task.model, { ...rate, tokens: estimateTokens(request.prd.bytes.length), log });
    await log(`${task.id}: ${task.title} (${task.model}, run ${task.runAttempts + 1} of ${MAX_RUN_ATTEMPTS})`);
    return executeTask(task, { places, repo, rate, request, world, confirm: options.confirm });
  });
}

/** Tasks run one after the other: a second process would run the same task, and overwrite its progress. */
async function withTaskLock<T>(folder: string, tasks: string, work: () => Promise<T>): Promise<T> {
  const path = join(folder, 'task.lock');
  try {
    return await withLock(path, work, { waitMs: 0 });
  } catch (error) {
    if (!(error instanceof LockBusyError) || error.path !== path) throw error;
    throw new HaloError('TASK_NOT_NEXT', `Another process (${error.owner}) runs a task of ${dirname(folder)}.`, {
      hint: `Wait until it has ended; it then writes the result to ${tasks}.`,
      cause: error,
    });
  }
}

async function assertStillNext(tasks: string, { id, json }: Task): Promise<void> {
  const now = (await readTasks(tasks)).find((task) => task.id === id);
  if (JSON.stringify(now?.json) === JSON.stringify(json)) return;
  throw new HaloError('TASK_NOT_NEXT', `The task ${JSON.stringify(id)} was changed in ${tasks} in the meantime.`, {
    hint: 'Run the command again.',
  });
}

/** What prevents that uncommitted changes are stashed. */
async function findUnfinished({ root, ownGitDir }: RepoInfo): Promise<string | undefined> {
  const [operation, unmerged] = await Promise.all([findUnfinishedOperation(ownGitDir), listUnmerged(root)]);
  if (operation !== undefined || unmerged.length === 0) return operation;
  return `the resolution of conflicts (${listSome(unmerged, MAX_NAMED)})`;
}

const MAX_NAMED = 5;

/** Checked first, so that no agent is paid for a result that cannot land. */
async function assertCanLand(repo: RepoInfo): Promise<void> {
  const { root, gitDir, branch } = repo;
  const unfinished = root === gitDir ? undefined : await findUnfinished(repo);
  if (unfinished !== undefined)
    throw new HaloError('LAND_REFUSED', `${root} is in the middle of ${unfinished}.`, {
      hint: 'Finish or abort it: the result of a task is added to the checked-out branch.',
    });
  if (branch !== undefined) return;
  throw new HaloError('LAND_REFUSED', `${root} has no branch checked out (detached HEAD).`, {
    hint: 'Check out a branch with `git switch <branch>`: the result of a task is added to it.',
  });
}

async function blockTask(
  task: RunnableTask,
  { places, log }: { places: Places; log: TaskWorld['log'] },
): Promise<number> {
  // No run begins, so the id of the last one remains, and its note follows.
  const observability = { last_update_utc: new Date().toISOString(), last_note: noteOfLimit(task) };
  await writeProgress(places.tasks, task.id, { status: 'blocked', observability });
  await log(`${task.id}: blocked after ${task.runAttempts} runs; pass --reset-task to start again`);
  return 11;
}

const LIMIT_REACHED = `Attempt limit reached (${MAX_RUN_ATTEMPTS})`;

function noteOfLimit({ lastNote }: RunnableTask): string {
  if (lastNote === undefined) return LIMIT_REACHED;
  return lastNote.startsWith(LIMIT_REACHED) ? lastNote : `${LIMIT_REACHED}; last run: ${lastNote}`;
}

async function waitForRate(
  model: string,
  { path, limit, tokens, log }: { path: string; limit: RateLimit; tokens: number; log: TaskWorld['log'] },
): Promise<void> {
  const delay = delayFor(await readRateCache(path), { model, limit, tokens, now: new Date() });
  if (delay === 0) return;
  const seconds = Math.ceil(delay / 1000);
  await log(`${model} is at its limit of ${limit.rpm} requests or ${limit.tpm} tokens a minute: waiting ${seconds} s`);
  await sleep(delay);
}

/** Checked first, so that no agent is paid for a result that cannot be verified. Only PATH could name another folder. */
async function assertProgramsInImage({ image, gates, env }: Config, verification: string | undefined): Promise<void> {
  const commands = verification === undefined ? (gates ?? []) : [verification];
  const programs = 'PATH' in env ? [] : plainProgramsOf(commands);
  if (programs.length === 0) return;
  // What is wrong with image or engine is for the attempt to say.
  const versions = await readProgramVersions(openDockerEngine(), image, programs).catch(() => undefined);
  if (versions === undefined) return;
  const missing = programs.find((program) => versions.get(program) === undefined);
  if (missing === undefined) return;
  const command = commands.find((line) => plainProgramsOf([line]).includes(missing));
  throw new HaloError('PROGRAM_MISSING', `The image ${image} has no \`${missing}\`, which \`${command}\` needs.`, {
    hint: `${capitalize(imageAdvice('it'))}.`,
  });
}

/** One attempt at one story; the verification command is chosen before the agent starts. */
async function describeRun(
  task: RunnableTask,
  { places, repo, config }: { places: Places; repo: RepoInfo; config: Config },
): Promise<SubmitRequest> {
  const verification = await findVerification({ gitDir: repo.gitDir, commit: repo.head });
  await assertProgramsInImage(config, verification?.command);
  // In this order, so that the files can be excluded again.
  const protect = [...(verification?.files ?? []), ...config.land.protect];
  return {
    prd: taskPrd(task, {
      path: places.tasks,
      project: basename(repo.root),
      prompt: await readRegularText(places.prompt, MAX_PRD_BYTES),
    }),
    repos: [repo.root],
    profile: undefined,
    set: [
      'retry.attempts=1',
      'prd.write_back=false',
      'land.mode="branch"',
      ...(verification === undefined ? [] : [`gates=${JSON.stringify([verification.command])}`]),
      `land.protect=${JSON.stringify(protect)}`,
      // Other providers have no such models.
      ...(config.model.api === 'openai' ? [`model.name=${JSON.stringify(task.model)}`] : []),
    ],
    allowDirty: true,
    withoutGates: true,
    task: true,
  };
}

interface Executing {
  places: Places;
  repo: RepoInfo;
  rate: { path: string; limit: RateLimit };
  request: SubmitRequest;
  world: TaskWorld;
  confirm: TaskOptions['confirm'];
}

function executeTask(task: RunnableTask, { places, repo, rate, request, world, confirm }: Executing): Promise<number> {
  const runAttempts = task.runAttempts + 1;
  const stop = new AbortController();
  let folder: Awaited<ReturnType<typeof openRunFolder>> | undefined;
  let logging: Promise<void> | undefined;
  return world
    .execute(request, {
      async begin(runId, operations) {
        try {
          folder = await openRunFolder(places.workspace, { taskId: task.id, runId, task: task.json });
          await writeProgress(places.tasks, task.id, {
            status: 'started',
            observability: { last_run_id: runId, last_update_utc: new Date().toISOString(), run_attempts: runAttempts },
          });
        } catch (error) {
          // Otherwise a worker would execute it later, and its result would be lost.
          await operations.cancel({ runId }).catch(() => undefined);
          throw error;
        }
        logging = folder.keepLog(await operations.followRaw({ runId, follow: true }, stop.signal));
      },
      async finish(run) {
        if (folder === undefined) throw new HaloError('INTERNAL', `Run ${run.runId} ended before it began.`);
        await logging;
        const now = new Date();
        const events = await run.operations.followEvents({ runId: run.runId, after: 0, follow: false });
        const requests = await recentRequests(events, { model: task.model, now });
        await writeRateCache(rate.path, addRequests(await readRateCache(rate.path), requests, now));
        return finishTask({ task: { ...task, runAttempts }, run, folder, places, repo, confirm, log: world.log });
      },
    })
    .finally(() => stop.abort());
}
