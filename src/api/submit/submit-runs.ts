import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { credentialsIn, withoutCredentialsIn } from '../../core/address-credentials.ts';
import { orderBatch } from '../../core/run/batch.ts';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import { unmetNeeds } from '../../core/run/run-dependencies.ts';
import { refuseTemplate } from '../../core/prd/prd-template.ts';
import type { Prd } from '../../core/prd/prd.ts';
import { mirrorPath, updateMirror } from '../../git/mirror/mirror.ts';
import { newRunId } from '../../lib/run-id.ts';
import { mapSome } from '../../lib/map-some.ts';
import { version } from '../../lib/version.ts';
import { parsePrd } from '../../prd/parse-prd.ts';
import type { StoryQueue } from '../../queue/queue.ts';
import { nextJobs } from '../../worker/run/next-jobs.ts';
import { withWholeMirror } from '../../worker/whole-mirror.ts';
import { settleNeeds } from '../../worker/recovery/update-dependencies.ts';
import type { BatchEntry, BatchRequest, PrdBytes, SubmitOptions, Submitted, SubmitRequest } from '../operations.ts';
import { planRun, type PlannedRun } from './plan-run.ts';
import { rivalsOf } from './rivals.ts';
import { linkRunFiles } from './prd-folder-links.ts';
import { placePrd, type PrdPlace } from './prd-place.ts';
import { submitOnce } from './idempotent-submit.ts';
import type { SubmitContext } from '../submit-context.ts';
import { findStartingPoint } from '../unlanded.ts';

/** Of one submit; each takes several processes of git. */
const MOST_AT_ONCE = 8;

/** Makes and queues one run per repository. Everything is validated first: all runs are made or none. */
export function submitRuns(context: SubmitContext, { prd, repos, ...options }: SubmitRequest): Promise<Submitted[]> {
  return submitBatch(context, { ...options, members: repos.map((repo) => ({ name: repo, repo, prd, deps: [] })) });
}

/** The same for repositories that have a PRD each, in the order in which they run. */
export async function submitBatch(context: SubmitContext, request: BatchRequest): Promise<Submitted[]> {
  const { members: given, ...options } = request;
  // Before anything is said of them: by default an address is its member's name, too.
  context.masker.learn(given.flatMap(({ repo }) => credentialsIn(repo)));
  const members = given.map((member) => ({
    ...member,
    name: withoutCredentialsIn(member.name),
    deps: member.deps.map(withoutCredentialsIn),
  }));
  const prds = new Map(members.map(({ prd }) => [prd, readFilledIn(prd)]));
  const ordered = orderBatch(members.map((member) => ({ ...member, priority: priorityOf(member, options) })));
  const make = async (announce: (submitted: Submitted[]) => Promise<void>) => {
    const after = await findNeeded(context, options.after ?? []);
    const looked = await mapSome(ordered, MOST_AT_ONCE, async (member): Promise<Planned> => {
      const plan = { request: options, source: member.repo, prd: member.prd };
      const run = await planRun(context, plan);
      const place = await placePrd(member.prd, { root: run.repo.source, remote: options.remote === true });
      return { member, run, place, runId: newRunId(new Date(), randomBytes) };
    });
    refuseTwice(looked);
    await refuseTwoBases(context, { planned: looked, after });
    const queue = await context.openQueue();
    await mapSome(looked, MOST_AT_ONCE, ({ run }) => fetchBase(context.host.home, run));
    const isPlaced = ({ member }: Planned) => options.fromHead === true || after.length > 0 || member.deps.length > 0;
    // A run starts from what it waits for, if it waits for a run.
    const planned = await mapSome(looked, MOST_AT_ONCE, (each) =>
      isPlaced(each) ? Promise.resolve(each) : startWhereDone(context, each, prds),
    );
    const rivals = await findRivals(context, { planned, after, options });
    const owner = await context.ownerId();
    const owned = owner === undefined ? {} : { owner };
    const batch = planned.length === 1 ? {} : { batch: newRunId(new Date(), randomBytes) };
    const submitted = planned.map(({ member, run, place, runId }): Submitted => {
      const ofPlace = place.warning !== undefined && run.config.prd.writeBack ? [place.warning] : [];
      const warnings = [
        ...(prds.get(member.prd)?.warnings ?? []),
        ...run.warnings,
        ...ofPlace,
        ...(rivals.get(runId) ?? []),
      ];
      return { runId, repo: run.repo.source, ...batch, ...owned, parallel: run.config.run.parallel, warnings };
    });
    await announce(submitted);
    await createRuns(context, { planned, prds, after, options, ...batch, ...owned });
    // The runs are made: from here on nothing may fail the submit, for the workers' reconcilers queue what is not.
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

/** By run: what to say of other runs of its repository that are not done, unless it builds on one of them. */
async function findRivals(
  { store }: SubmitContext,
  { planned, after, options }: Pick<Making, 'planned' | 'after' | 'options'>,
): Promise<Map<string, string[]>> {
  const said = planned.map(async ({ run, runId, member }) => {
    const builds = after.length > 0 || member.deps.length > 0 || options.scratch === true;
    return [runId, builds ? [] : await rivalsOf(store, run.repo)] as const;
  });
  return new Map(await Promise.all(said));
}

/** Throws PRD_INVALID, also for one that is still as `halo prd new` made it. */
function readFilledIn({ bytes, path }: PrdBytes): Prd {
  const prd = parsePrd(bytes, path);
  refuseTemplate(prd, path);
  return prd;
}

interface Planned {
  member: BatchEntry & { priority: number };
  run: PlannedRun;
  place: PrdPlace;
  runId: string;
}

/** The run on the commit that has all stories that its PRD calls done, as far as halo made them. */
async function startWhereDone(
  { store, host }: SubmitContext,
  planned: Planned,
  prds: ReadonlyMap<PrdBytes, Prd>,
): Promise<Planned> {
  const { member, run } = planned;
  const prd = prds.get(member.prd);
  if (prd === undefined) return planned;
  const { home } = host;
  const { base, warnings } = await withWholeMirror({ home, repo: run.repo, access: run.access }, () =>
    findStartingPoint({ store, home, run, prd, prdPath: member.prd.path }),
  );
  return { ...planned, run: { ...run, repo: { ...run.repo, base }, warnings: [...run.warnings, ...warnings] } };
}

function priorityOf(member: BatchEntry, { priority = 0 }: SubmitOptions): number {
  return member.priority ?? priority;
}

async function findNeeded({ store }: SubmitContext, prefixes: readonly string[]): Promise<string[]> {
  return [...new Set(await Promise.all(prefixes.map((prefix) => store.find(prefix))))];
}

function refuseTwice(planned: readonly Planned[]): void {
  const seen = new Set<string>();
  for (const { run } of planned) {
    if (seen.has(run.repo.mirror)) {
      throw new HaloError('USAGE', `The repository ${run.repo.source} is named twice.`, {
        hint: 'Name each repository once: a run has its own branch, so runs of one repository are submitted one by one, with --after where the order matters.',
      });
    }
    seen.add(run.repo.mirror);
  }
}

/** A run builds on the run of its own repository that it waits for: with two, there would be two commits to build on. */
async function refuseTwoBases(
  { store }: SubmitContext,
  { planned, after }: { planned: readonly Planned[]; after: readonly string[] },
): Promise<void> {
  const needed = await Promise.all(after.map((runId) => store.readState(runId)));
  for (const { run } of planned) {
    const same = needed.filter(({ repo }) => repo.mirror === run.repo.mirror).map(({ runId }) => runId);
    if (same.length < 2) continue;
    throw new HaloError('USAGE', `${same.join(' and ')} are runs of ${run.repo.source}: it can build on one alone.`, {
      hint: 'Name the one to build on with --after; runs that shall build on each other wait for each other.',
    });
  }
}

async function enqueueReady(
  { store }: SubmitContext,
  { runId, queue }: Pick<Planned, 'runId'> & { queue: StoryQueue },
): Promise<void> {
  const state = await settleNeeds({ store, log: pino({ level: 'silent' }) }, await store.readState(runId));
  if (unmetNeeds(state).length > 0) return;
  for (const job of nextJobs(state)) await queue.enqueue(job);
}

async function fetchBase(home: string, { repo, from, access }: PlannedRun): Promise<void> {
  await mkdir(join(mirrorPath(home, repo.mirror), '..'), { recursive: true, mode: 0o700 });
  const mirror = { home, name: repo.mirror, from, access };
  await withWholeMirror({ home, repo, access }, () => updateMirror({ ...mirror, commit: repo.base }));
}

interface Making {
  planned: readonly Planned[];
  prds: ReadonlyMap<PrdBytes, Prd>;
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
    if (prd === undefined) throw new HaloError('INTERNAL', `the PRD of ${member.name} was not read`);
    // For several repositories, a PRD is done only when it is done in all of them.
    const sharers = planned.filter((other) => other.member.prd.path === member.prd.path).length;
    const alone = sharers === 1 && place.mayMark;
    const writeBack = run.config.prd.writeBack && alone;
    const config = { ...run.config, prd: { writeBack } };
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
      ...(options.scratch === undefined ? {} : { scratch: options.scratch }),
      user: options.user ?? context.user,
      agent: config.agent,
      priority: member.priority,
      ...(owner === undefined ? {} : { owner }),
      ...(needs.length === 0 ? {} : { after: needs }),
      ...(batch === undefined ? {} : { batch: { id: batch, name: member.name, place: index } }),
    };
    return {
      alone,
      created,
      origin: { haloVersion: version(), agent: { name: config.agent }, args: context.args, config },
    };
  });
  await context.store.createRuns(made);
  for (const { created } of made.filter(({ alone }) => alone))
    await linkRunFiles(created.prdPath, context.store.runFolder(created.runId));
}

function ignore(): undefined {}

function whyNot(error: unknown): string {
  return toHaloError(error).message;
}
