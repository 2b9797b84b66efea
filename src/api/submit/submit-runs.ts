import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import type { Prd, Story } from '../../core/prd/prd.ts';
import { unmetNeeds } from '../../core/run/run-dependencies.ts';
import { forgetBase, mirrorPath, updateMirror } from '../../git/mirror/mirror.ts';
import { requireSamePlaces } from '../../git/repository/repository-places.ts';
import { ignore, mapConcurrent } from '../../lib/async.ts';
import { createFolders } from '../../lib/fs.ts';
import { defined } from '../../lib/guards.ts';
import { newRunId } from '../../lib/run-id.ts';
import { assertTestsCommand } from '../../prd/assert-prd.ts';
import { assertCriteria } from '../../prd/parse-prd.ts';
import type { StoryQueue } from '../../queue/queue.ts';
import { withIntactMirror } from '../../worker/repository/with-intact-mirror.ts';
import { nextJobs } from '../../worker/run/next-jobs.ts';
import type { BatchRequest, SubmitOptions, Submitted, SubmitRequest } from '../operations/schemas.ts';
import { readEngines } from '../../config/host-rules.ts';
import { assertEngine } from './assert-engine.ts';
import { requireUsablePrompts } from '../prompts/usable-prompts.ts';
import { submitOnce } from './idempotent-submit.ts';
import { resolveSubmission, type ResolvedSubmission } from './resolve-submission.ts';
import { resolvePrdOwnership, linkRunFiles, type PrdOwnership } from './prd-ownership.ts';
import {
  assertNamedOnce,
  hasOpenStory,
  openStories,
  readBatchMembers,
  type CheckedBatch,
  type Member,
} from './batch-members.ts';
import { resolveStartingPoint } from './starting-point.ts';
import { readInTurn } from '../access/read-in-turn.ts';
import type { SubmitContext } from './submit-context.ts';
import { warnOfForeignMarks, warnOfOpenRuns, warnOfTakenTests } from './warnings.ts';
import type { RunCreated } from '../../core/journal/run-created.ts';
import { haloVersion } from '../../lib/version.ts';

/** Repositories that one submit inspects concurrently; each needs several git processes. */
const MAX_CONCURRENT = 8;

/** Creates and queues one run per repository. Everything is validated first: either all runs are created, or none. */
export function submitRuns(context: SubmitContext, { prd, repos, ...options }: SubmitRequest): Promise<Submitted[]> {
  return submitBatch(context, { ...options, members: repos.map((repo) => ({ name: repo, repo, prd, deps: [] })) });
}

/**
 * The same for repositories with a PRD each. Returns the runs in the order in which they run. Without a key, `announce`
 * receives them before they are created.
 */
export async function submitBatch(
  context: SubmitContext,
  request: BatchRequest,
  announce: (submitted: Submitted[]) => Promise<void> = () => Promise.resolve(),
): Promise<Submitted[]> {
  const batch = await readInTurn(context, () => readBatchMembers(request, context.masker));
  const { key } = request;
  if (key === undefined) return submitMembers(context, batch, announce);
  return submitOnce(context, { key, request }, (announce) => submitMembers(context, batch, announce));
}

/** `announce` receives the runs before they are created. */
async function submitMembers(
  context: SubmitContext,
  { members, options }: CheckedBatch,
  announce: (submitted: Submitted[]) => Promise<void>,
): Promise<Submitted[]> {
  const opening = openMeanwhile(context);
  const after = await findRuns(context, options.after ?? []);
  const inspected = await mapConcurrent(members, MAX_CONCURRENT, (member) => planMember(context, member, options));
  assertNamedOnce(inspected.map(({ run }) => run));
  await assertOneBase(context, inspected, after);
  const queue = await opening;
  await mapConcurrent(inspected, MAX_CONCURRENT, ({ run }) => fetchBase(context.host.home, run));
  const planned = await mapConcurrent(inspected, MAX_CONCURRENT, (each) =>
    // A run that depends on another one starts from its result.
    dependsOnRuns(each, after) ? Promise.resolve(each) : startWhereDone(context, each, options),
  );
  const warnings = await mapConcurrent(planned, MAX_CONCURRENT, (each) =>
    findWarnings(context, each, { options, after }),
  );
  const batch = planned.length === 1 ? undefined : newRunId(new Date(), randomBytes);
  const owner = await context.ownerId();
  await assertEngines(context, planned, { options, here: owner !== undefined });
  const submitted = planned.map(({ runId, run }, index): Submitted => {
    const { repo, config } = run;
    const shown = { runId, repo: repo.source, parallel: config.run.parallel, warnings: warnings[index] ?? [] };
    return { ...shown, ...defined({ batch, owner }) };
  });
  await announce(submitted);
  await createRuns(context, planned, { options, after, batch, owner });
  return enqueueRuns(context, submitted, queue);
}

/** Opens the queue: Redis, whose start takes as long as all questions to git, starts while git answers them. */
function openMeanwhile(context: SubmitContext): Promise<StoryQueue> {
  const opening = context.openQueue();
  opening.catch(ignore);
  return opening;
}

async function findRuns({ store }: SubmitContext, prefixes: readonly string[]): Promise<string[]> {
  return [...new Set(await mapConcurrent([...new Set(prefixes)], MAX_CONCURRENT, (prefix) => store.find(prefix)))];
}

/** Validates the configuration of a member's repository, and what its PRD needs of it. */
async function planMember(context: SubmitContext, member: Member, options: SubmitOptions): Promise<PlannedMember> {
  const { prd, parsed } = member;
  const stories = options.planning ? [] : openStories(parsed, options.stories);
  const run = await resolveSubmission(context, { request: options, source: member.repo, prd, stories });
  if (run.config.prd.criteria === 'required') assertCriteria(prd);
  // A run without open stories ends immediately and needs no preflight check.
  if (hasOpenStory(parsed, options.stories)) await context.preflight?.(run.config);
  if (!options.dryRun) assertTestsCommand(parsed, run.config.tests.command, prd.path);
  const place = await resolvePrdOwnership(prd, { root: run.repo.source, remote: options.remote === true });
  return { member, run, place, runId: newRunId(new Date(), randomBytes) };
}

function dependsOnRuns({ member }: PlannedMember, after: readonly string[]): boolean {
  return after.length > 0 || member.deps.length > 0;
}

/** A run starts from the result of the run of its repository that it depends on: there must not be two. */
async function assertOneBase(
  { store }: SubmitContext,
  planned: readonly PlannedMember[],
  after: readonly string[],
): Promise<void> {
  const needed = await Promise.all(after.map((runId) => store.readState(runId)));
  for (const { run } of planned) {
    const same = needed.filter(({ repo }) => repo.mirror === run.repo.mirror).map(({ runId }) => runId);
    if (same.length < 2) continue;
    throw new HaloError(
      'USAGE',
      `${same.join(' and ')} are runs of ${run.repo.source}: a run can build on only one other run of its repository.`,
      {
        hint: 'Pass only the one to build on with --after; chain the runs if each builds on the previous one.',
      },
    );
  }
}

/** Throws CONFIG_INVALID for a run with open stories that no engine may run. */
async function assertEngines(
  { host, user }: SubmitContext,
  planned: readonly PlannedMember[],
  { options, here }: { options: SubmitOptions; here: boolean },
): Promise<void> {
  const engines = await readEngines(host.home);
  for (const { member, run } of planned)
    if (hasOpenStory(member.parsed, options.stories))
      assertEngine({ user: options.user ?? user, repo: run.repo, ...engineLabelsOf(run) }, { engines, here });
}

function engineLabelsOf({ config }: ResolvedSubmission): Pick<RunCreated, 'engineLabels'> {
  const { labels } = config.engine;
  return labels.length === 0 ? {} : { engineLabels: labels };
}

async function fetchBase(home: string, { repo, from, access }: ResolvedSubmission): Promise<void> {
  await createFolders(join(mirrorPath(home, repo.mirror), '..'), 0o700);
  const mirror = { home, name: repo.mirror, from, access };
  await withIntactMirror({ home, repo, access }, () => updateMirror({ ...mirror, commit: repo.base }));
  try {
    await requireSamePlaces(repo.source, repo.places);
  } catch (error) {
    await forgetBase(home, repo);
    throw error;
  }
}

/** Moves the base of a run to the commit that has all stories that are done in its PRD and that halo landed. */
async function startWhereDone(
  { store, host: { home } }: SubmitContext,
  planned: PlannedMember,
  { fromHead = false }: SubmitOptions,
): Promise<PlannedMember> {
  const { run, member } = planned;
  const { base, warnings } = await withIntactMirror({ home, repo: run.repo, access: run.access }, () =>
    resolveStartingPoint({ store, home, run, prd: member.parsed, prdPath: member.prd.path, fromHead }),
  );
  return { ...planned, run: { ...run, repo: { ...run.repo, base }, warnings: [...run.warnings, ...warnings] } };
}

/** Warnings for the user about a run. Throws CONFIG_INVALID and PROMPT_TOO_LARGE for prompts that cannot be built. */
async function findWarnings(
  { store, user, host: { home } }: SubmitContext,
  planned: PlannedMember,
  { options, after }: { options: SubmitOptions; after: readonly string[] },
): Promise<string[]> {
  const { planning, scratch, dryRun } = options;
  const { run, member, place } = planned;
  const { parsed: prd } = member;
  const isAlone = dependsOnRuns(planned, after) || scratch === true || dryRun === true;
  const gitDir = mirrorPath(home, run.repo.mirror);
  const marks = { repo: run.repo, prdPath: place.path, user: options.user ?? user };
  const [ofPrompts, ofTests, ofOpenRuns, ofMarks] = await Promise.all([
    scratch === true ? [] : requireUsablePrompts({ gitDir, run, prd, planning }),
    scratch === true || planning
      ? []
      : warnOfTakenTests({ gitDir, commit: run.repo.base }, run.config.tests, selectStories(prd, options.stories)),
    isAlone ? [] : warnOfOpenRuns(store, run.repo, selectStories(prd, options.stories)),
    place.isHere ? warnOfForeignMarks(store, marks, selectStories(prd, options.stories)) : [],
  ]);
  return [
    ...(planning ? [] : prd.warnings),
    ...run.warnings,
    ...(place.warning !== undefined && run.config.prd.writeBack ? [place.warning] : []),
    ...ofPrompts,
    ...ofTests,
    ...ofOpenRuns,
    ...ofMarks,
  ];
}

/** The runs exist: from here on, a submit must not fail. The reconcilers of workers queue what is missing. */
async function enqueueRuns(
  context: SubmitContext,
  runs: readonly Submitted[],
  queue: StoryQueue,
): Promise<Submitted[]> {
  let unqueued: string | undefined;
  const queued: Submitted[] = [];
  for (const run of runs) {
    unqueued ??= await enqueueReady(context, run.runId, queue).then(ignore, (error) => toHaloError(error).message);
    queued.push({ ...run, ...defined({ unqueued }) });
  }
  return queued;
}

async function enqueueReady({ store }: SubmitContext, runId: string, queue: StoryQueue): Promise<void> {
  let state = await store.readState(runId);
  if (unmetNeeds(state).length > 0) {
    const [{ updateDependencies }, { pino }] = await Promise.all([
      import('../../worker/recovery/update-dependencies.ts'),
      import('pino'),
    ]);
    state = await updateDependencies({ store, log: pino({ level: 'silent' }) }, state);
    if (unmetNeeds(state).length > 0) return;
  }
  for (const job of nextJobs(state)) await queue.enqueue(job);
}

function selectStories({ stories }: Prd, selected: readonly string[] | undefined): Story[] {
  return stories.filter(({ id }) => selected?.includes(id) ?? true);
}

/** A run that can be created. */
interface PlannedMember {
  member: Member;
  runId: string;
  run: ResolvedSubmission;
  place: PrdOwnership;
}

/** What the runs of a submit share. */
interface Shared {
  options: SubmitOptions;
  /** Ids of runs that must end with SUCCESS first. */
  after: readonly string[];
  /** The id of the batch, if the submit creates several runs. */
  batch: string | undefined;
  /** The worker that exclusively owns the runs. */
  owner: string | undefined;
}

/** Creates the run directories: all of them, or none. */
async function createRuns(
  context: Pick<SubmitContext, 'store' | 'args' | 'user'>,
  planned: readonly PlannedMember[],
  shared: Shared,
): Promise<void> {
  const { store, args } = context;
  const runIds = new Map(planned.map(({ member, runId }) => [member.name, runId]));
  const runs = planned.map((each, place) => {
    const { run } = each;
    const writeBack = run.config.prd.writeBack && ownsPrd(each, planned);
    const config = { ...run.config, prd: { ...run.config.prd, writeBack } };
    const created = { ...runCreated(each, { ...shared, runIds, place }), user: shared.options.user ?? context.user };
    return { created, origin: { haloVersion: haloVersion(), agent: { name: config.agent }, args, config } };
  });
  await store.createRuns(runs);
  for (const each of planned)
    if (ownsPrd(each, planned)) await linkRunFiles(each.place.path, store.runFolder(each.runId));
}

/** Whether progress belongs into the PRD file: a PRD of several repositories is done only when it is done in all of them. */
function ownsPrd({ member, place }: PlannedMember, planned: readonly PlannedMember[]): boolean {
  return place.mayMark && planned.filter((other) => other.member.prd.path === member.prd.path).length === 1;
}

function runCreated(
  { member, runId, run, place: prd }: PlannedMember,
  { options, after, batch, owner, runIds, place }: Shared & { runIds: ReadonlyMap<string, string>; place: number },
): Omit<RunCreated, 'user'> {
  const { repo, config } = run;
  const needs = [...after, ...member.deps.flatMap((name) => runIds.get(name) ?? [])];
  return {
    type: 'run.created',
    runId,
    repo,
    prdPath: prd.path,
    prdIsHere: prd.isHere,
    prd: member.parsed,
    attempts: config.retry.attempts,
    ...config.run,
    ...(config.approval.mode === 'run' && { needsApproval: true }),
    ...defined({ scratch: options.scratch, task: options.task, issues: options.issues, selected: options.stories }),
    ...(options.dryRun && { dry: true as const, ...defined({ planning: options.planning }) }),
    agent: config.agent,
    priority: member.priority,
    ...engineLabelsOf(run),
    ...defined({ owner }),
    ...(needs.length > 0 && { after: needs }),
    ...(batch !== undefined && { batch: { id: batch, name: member.name, place } }),
  };
}
