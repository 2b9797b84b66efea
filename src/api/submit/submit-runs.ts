import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pino } from 'pino';
import { createFolders } from '../../lib/fs.ts';
import { findCredentials, stripCredentials } from '../../core/text/address-credentials.ts';
import { orderBatch } from '../../core/run/batch.ts';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import { unmetNeeds } from '../../core/run/run-dependencies.ts';
import { assertFilledIn } from '../../core/prd/prd-template.ts';
import type { Prd, PrdFile } from '../../core/prd/prd.ts';
import { mirrorPath, updateMirror } from '../../git/mirror/mirror.ts';
import { newRunId } from '../../lib/run-id.ts';
import { mapConcurrent, ignore } from '../../lib/async.ts';
import { haloVersion } from '../../lib/version.ts';
import { assertCriteria, parsePrd } from '../../prd/parse-prd.ts';
import { assertTestsCommand } from '../../prd/assert-tests-command.ts';
import { assertSelection } from '../../prd/assert-selection.ts';
import type { StoryQueue } from '../../queue/queue.ts';
import { nextJobs } from '../../worker/run/next-jobs.ts';
import { withIntactMirror } from '../../worker/repository/with-intact-mirror.ts';
import { updateDependencies } from '../../worker/recovery/update-dependencies.ts';
import type { BatchEntry, BatchRequest, SubmitOptions, Submitted, SubmitRequest } from '../operations.ts';
import { planRun, type PlannedRun } from './plan-run.ts';
import { checkPrompts } from '../prompts/check-prompts.ts';
import { rivalsOf } from './rivals.ts';
import { linkRunFiles } from './prd-folder-links.ts';
import { placePrd, type PrdPlace } from './prd-place.ts';
import { submitOnce } from './idempotent-submit.ts';
import type { SubmitContext } from './submit-context.ts';
import { resolveStartingPoint } from './starting-point.ts';
import { defined } from '../../lib/guards.ts';

/** Repositories that one submit inspects concurrently; each needs several git processes. */
const MAX_CONCURRENT = 8;

/** Creates and queues one run per repository. Everything is validated first: either all runs are created, or none. */
export function submitRuns(context: SubmitContext, { prd, repos, ...options }: SubmitRequest): Promise<Submitted[]> {
  return submitBatch(context, { ...options, members: repos.map((repo) => ({ name: repo, repo, prd, deps: [] })) });
}

/** The same for repositories with a PRD each. Returns the runs in the order in which they run. */
export async function submitBatch(context: SubmitContext, request: BatchRequest): Promise<Submitted[]> {
  const { members: given, ...options } = request;
  // Before any message names them: by default, a URL is also the name of its member.
  context.masker.learn(given.flatMap(({ repo }) => findCredentials(repo)));
  const members = given.map((member) => ({
    ...member,
    name: stripCredentials(member.name),
    deps: member.deps.map(stripCredentials),
  }));
  const prds = new Map(members.map(({ prd }) => [prd, readFilledIn(prd)]));
  for (const [{ path }, prd] of prds) assertSelection(prd, options.stories, path);
  const ordered = orderBatch(members.map((member) => ({ ...member, priority: priorityOf(member, options) })));
  const make = async (announce: (submitted: Submitted[]) => Promise<void>) => {
    const after = await findNeeded(context, options.after ?? []);
    const looked = await mapConcurrent(ordered, MAX_CONCURRENT, async (member): Promise<Planned> => {
      const plan = { request: options, source: member.repo, prd: member.prd };
      const run = await planRun(context, plan);
      if (run.config.prd.criteria === 'required') assertCriteria(member.prd);
      const parsed = prds.get(member.prd);
      // A run without open stories ends immediately and needs no preflight check.
      if (parsed === undefined || hasOpenStory(parsed, options.stories)) await context.preflight?.(run.config);
      if (parsed !== undefined && !options.dryRun)
        assertTestsCommand(parsed, run.config.tests.command, member.prd.path);
      const place = await placePrd(member.prd, { root: run.repo.source, remote: options.remote === true });
      return { member, run, place, runId: newRunId(new Date(), randomBytes) };
    });
    assertNamedOnce(looked);
    await assertOneBase(context, { planned: looked, after });
    const queue = await context.openQueue();
    await mapConcurrent(looked, MAX_CONCURRENT, ({ run }) => fetchBase(context.host.home, run));
    // A run that depends on another one starts from its result.
    const isPlaced = ({ member }: Planned) => after.length > 0 || member.deps.length > 0;
    const fromHead = options.fromHead === true;
    const planned = await mapConcurrent(looked, MAX_CONCURRENT, (each) =>
      isPlaced(each) ? Promise.resolve(each) : startWhereDone(context, each, { prds, fromHead }),
    );
    const prompts = await mapConcurrent(planned, MAX_CONCURRENT, async ({ member, run, runId }) => {
      const prd = prds.get(member.prd);
      const gitDir = mirrorPath(context.host.home, run.repo.mirror);
      const isChecked = prd !== undefined && options.scratch !== true;
      return [runId, isChecked ? await checkPrompts({ gitDir, run, prd }) : []] as const;
    });
    const ofPrompts = new Map(prompts);
    const rivals = await findRivals(context, { planned, after, options });
    const owner = await context.ownerId();
    const owned = defined({ owner });
    const batch = planned.length === 1 ? {} : { batch: newRunId(new Date(), randomBytes) };
    const submitted = planned.map(({ member, run, place, runId }): Submitted => {
      const ofPlace = place.warning !== undefined && run.config.prd.writeBack ? [place.warning] : [];
      const warnings = [
        ...(options.planning ? [] : (prds.get(member.prd)?.warnings ?? [])),
        ...run.warnings,
        ...ofPlace,
        ...(ofPrompts.get(runId) ?? []),
        ...(rivals.get(runId) ?? []),
      ];
      return { runId, repo: run.repo.source, ...batch, ...owned, parallel: run.config.run.parallel, warnings };
    });
    await announce(submitted);
    await createRuns(context, { planned, prds, after, options, ...batch, ...owned });
    // The runs exist: from here on, the submit must not fail. The reconcilers of workers queue what is missing.
    let unqueued: string | undefined;
    for (const run of submitted) {
      unqueued ??= await enqueueReady(context, { runId: run.runId, queue }).then(ignore, whyNot);
      if (unqueued !== undefined) run.unqueued = unqueued;
    }
    return submitted;
  };
  const { key } = options;
  if (key === undefined) return make(() => Promise.resolve());
  return submitOnce(context, { key, request }, make);
}

/** Warnings about other open runs of the same repository, by run, unless it builds on one of them. */
async function findRivals(
  { store }: SubmitContext,
  { planned, after, options }: Pick<Making, 'planned' | 'after' | 'options'>,
): Promise<Map<string, string[]>> {
  const said = planned.map(async ({ run, runId, member }) => {
    const builds = after.length > 0 || member.deps.length > 0 || options.scratch === true || options.dryRun === true;
    return [runId, builds ? [] : await rivalsOf(store, run.repo)] as const;
  });
  return new Map(await Promise.all(said));
}

function hasOpenStory({ stories }: Prd, selected: readonly string[] | undefined): boolean {
  const isOpen = ({ id, status }: Prd['stories'][number]) =>
    status !== 'done' && status !== 'skipped' && (selected === undefined || selected.includes(id));
  return stories.some(isOpen);
}

/** Throws PRD_INVALID, also for an unchanged template of `halo prd new`. */
function readFilledIn({ bytes, path }: PrdFile): Prd {
  const prd = parsePrd(bytes, path);
  assertFilledIn(prd, path);
  return prd;
}

interface Planned {
  member: BatchEntry & { priority: number };
  run: PlannedRun;
  place: PrdPlace;
  runId: string;
}

/** Moves the base of a run to the commit that has all stories that are done in its PRD and that halo landed. */
async function startWhereDone(
  { store, host }: SubmitContext,
  planned: Planned,
  { prds, fromHead }: { prds: ReadonlyMap<PrdFile, Prd>; fromHead: boolean },
): Promise<Planned> {
  const { member, run } = planned;
  const prd = prds.get(member.prd);
  if (prd === undefined) return planned;
  const { home } = host;
  const { base, warnings } = await withIntactMirror({ home, repo: run.repo, access: run.access }, () =>
    resolveStartingPoint({ store, home, run, prd, prdPath: member.prd.path, fromHead }),
  );
  return { ...planned, run: { ...run, repo: { ...run.repo, base }, warnings: [...run.warnings, ...warnings] } };
}

function priorityOf(member: BatchEntry, { priority = 0 }: SubmitOptions): number {
  return member.priority ?? priority;
}

async function findNeeded({ store }: SubmitContext, prefixes: readonly string[]): Promise<string[]> {
  return [...new Set(await Promise.all(prefixes.map((prefix) => store.find(prefix))))];
}

function assertNamedOnce(planned: readonly Planned[]): void {
  const seen = new Set<string>();
  for (const { run } of planned) {
    if (seen.has(run.repo.mirror)) {
      throw new HaloError('USAGE', `The repository ${run.repo.source} is named twice.`, {
        hint: 'Name each repository once, and submit further runs of it separately (with --after if the order matters).',
      });
    }
    seen.add(run.repo.mirror);
  }
}

/** A run starts from the result of the run of its repository that it depends on: there must not be two. */
async function assertOneBase(
  { store }: SubmitContext,
  { planned, after }: { planned: readonly Planned[]; after: readonly string[] },
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

async function enqueueReady(
  { store }: SubmitContext,
  { runId, queue }: Pick<Planned, 'runId'> & { queue: StoryQueue },
): Promise<void> {
  const state = await updateDependencies({ store, log: pino({ level: 'silent' }) }, await store.readState(runId));
  if (unmetNeeds(state).length > 0) return;
  for (const job of nextJobs(state)) await queue.enqueue(job);
}

async function fetchBase(home: string, { repo, from, access }: PlannedRun): Promise<void> {
  await createFolders(join(mirrorPath(home, repo.mirror), '..'), 0o700);
  const mirror = { home, name: repo.mirror, from, access };
  await withIntactMirror({ home, repo, access }, () => updateMirror({ ...mirror, commit: repo.base }));
}

interface Making {
  planned: readonly Planned[];
  prds: ReadonlyMap<PrdFile, Prd>;
  after: readonly string[];
  options: SubmitOptions;
  batch?: string;
  owner?: string;
}

async function createRuns(
  context: SubmitContext,
  { planned, prds, after, options, batch, owner }: Making,
): Promise<void> {
  const idOf = new Map(planned.map(({ member, runId }) => [member.name, runId]));
  const made = planned.map(({ member, run, place, runId }, index) => {
    const prd = prds.get(member.prd);
    if (prd === undefined) throw new HaloError('INTERNAL', `The PRD of ${member.name} was not read.`);
    // A PRD of several repositories is done only when it is done in all of them.
    const sharers = planned.filter((other) => other.member.prd.path === member.prd.path).length;
    const alone = sharers === 1 && place.mayMark;
    const writeBack = run.config.prd.writeBack && alone;
    const config = { ...run.config, prd: { ...run.config.prd, writeBack } };
    const needs = [...after, ...member.deps.flatMap((name) => idOf.get(name) ?? [])];
    const created: JournalEntry & { type: 'run.created' } = {
      type: 'run.created',
      runId,
      repo: run.repo,
      prdPath: place.path,
      prdIsHere: place.isHere,
      prd,
      attempts: config.retry.attempts,
      ...config.run,
      ...(config.approval.mode === 'run' ? { needsApproval: true } : {}),
      ...defined({ scratch: options.scratch, issues: options.issues, selected: options.stories }),
      ...(options.dryRun ? { dry: true as const, ...defined({ planning: options.planning }) } : {}),
      user: options.user ?? context.user,
      agent: config.agent,
      priority: member.priority,
      ...defined({ owner }),
      ...(needs.length === 0 ? {} : { after: needs }),
      ...(batch === undefined ? {} : { batch: { id: batch, name: member.name, place: index } }),
    };
    return {
      alone,
      created,
      origin: { haloVersion: haloVersion(), agent: { name: config.agent }, args: context.args, config },
    };
  });
  await context.store.createRuns(made);
  for (const { created } of made.filter(({ alone }) => alone))
    await linkRunFiles(created.prdPath, context.store.runFolder(created.runId));
}

function whyNot(error: unknown): string {
  return toHaloError(error).message;
}
