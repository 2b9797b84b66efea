import type { RunCreated } from '../../core/journal/run-created.ts';
import { defined } from '../../lib/guards.ts';
import { haloVersion } from '../../lib/version.ts';
import type { SubmitOptions } from '../operations/schemas.ts';
import type { ResolvedSubmission } from './resolve-submission.ts';
import { linkRunFiles, type PrdOwnership } from './prd-ownership.ts';
import type { Member } from './batch-members.ts';
import type { SubmitContext } from './submit-context.ts';

/** A run that can be created. */
export interface PlannedMember {
  member: Member;
  runId: string;
  run: ResolvedSubmission;
  place: PrdOwnership;
}

/** What the runs of a submit share. */
export interface Shared {
  options: SubmitOptions;
  /** Ids of runs that must end with SUCCESS first. */
  after: readonly string[];
  /** The id of the batch, if the submit creates several runs. */
  batch: string | undefined;
  /** The worker that exclusively owns the runs. */
  owner: string | undefined;
}

/** Creates the run directories: all of them, or none. */
export async function createRuns(
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
  { member, runId, run: { repo, config }, place: prd }: PlannedMember,
  { options, after, batch, owner, runIds, place }: Shared & { runIds: ReadonlyMap<string, string>; place: number },
): Omit<RunCreated, 'user'> {
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
    ...defined({ owner }),
    ...(needs.length > 0 && { after: needs }),
    ...(batch !== undefined && { batch: { id: batch, name: member.name, place } }),
  };
}
