import { isDeepStrictEqual } from 'node:util';
import { chooseAgain } from '../../config/choice/resolve-choices.ts';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import { assertFilledIn } from '../../core/prd/prd-template.ts';
import type { Prd, PrdFile, Story } from '../../core/prd/prd.ts';
import { foldEntries } from '../../core/journal/fold-run.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import type { ControlResult } from '../../core/run/control-result.ts';
import type { RunState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { assertSelection, assertTestsCommand } from '../../prd/assert-prd.ts';
import { assertCriteria, parsePrd } from '../../prd/parse-prd.ts';
import { readPrdSource } from '../../prd/prd-source.ts';
import { withoutProgress } from '../../prd/spec-hash.ts';
import type { RunKeeper } from '../worker-context.ts';
import { readRun } from '../run/read-run.ts';
import { tryRecoverLanded } from '../run/recover-landed.ts';
import { assertAllowed, canReopen, isRetryable } from '../../core/run/actions.ts';
import { continueRun } from '../run/continue-run.ts';
import { resumeRun, type ControlRequest } from './control-run.ts';

/** The differences between two PRDs, as story ids. */
interface PrdChanges {
  changed: string[];
  added: string[];
  removed: string[];
}

/**
 * Resumes a paused run. Throws CONTROL_REFUSED if its PRD file has changed, because a person must decide which version
 * counts. A missing file is ignored: the journal holds the PRD.
 */
export async function resumeUnchanged(keeper: RunKeeper, request: ControlRequest): Promise<ControlResult> {
  const { runId } = request;
  const state = await keeper.store.readState(runId);
  const file = state.status === 'ended' ? undefined : await readOwnFile(state);
  if (file !== undefined) assertUnchanged((await readRun(keeper, runId)).prd, parseCurrent(file), state);
  return resumeRun(keeper, request);
}

/**
 * Continues a run with the current PRD, even after its end. Passed stories stay, changed and new stories run, removed
 * stories are dropped. Throws CONTROL_REFUSED, and PRD_INVALID and PRD_UNREADABLE for the file.
 */
export async function replanRun(
  keeper: RunKeeper,
  request: ControlRequest,
  given: (PrdFile & { remote?: true }) | undefined,
): Promise<ControlResult> {
  const { runId, by, also = [] } = request;
  const { store } = keeper;
  const before = await store.readState(runId);
  assertAllowed(canReopen(before));
  const file = given ?? (await readOwnFile(before));
  if (file === undefined) {
    const what = before.prdIsHere ? before.prdPath : `that run ${runId} came from`;
    throw new HaloError('CONTROL_REFUSED', `The PRD ${what} is not on this machine.`, {
      hint: `Pass the file: \`halo resume ${runId} --replan prd.json\`.`,
    });
  }
  const prd = parsePrd(file.bytes, file.path);
  assertFilledIn(prd, file.path);
  assertSelection(prd, before.selected, file.path);
  const run = await readRun(keeper, runId);
  if (run.config.prd.criteria === 'required') assertCriteria(file);
  assertTestsCommand(prd, run.config.tests.command, file.path);
  const changes = comparePrds(run.prd, prd);
  const { storyChoices, problems, unused } = chooseAgain(
    run.config,
    prd.stories.filter(({ status }) => status !== 'done' && status !== 'skipped'),
  );
  if (problems.length > 0)
    throw new HaloError('CONFIG_INVALID', problems.join('\n'), {
      hint: 'Choose an agent and a model that the run may use; it has the rules of its submit.',
    });
  const choices = isDeepStrictEqual(storyChoices, run.config.storyChoices) ? {} : { choices: { storyChoices } };
  const prdPath = given === undefined || given.path === '-' || given.remote ? undefined : given.path;
  const result = await store.transact(runId, async (state) => {
    const landed = await tryRecoverLanded(keeper, { state, config: run.config });
    const replanned: JournalEntry[] = [
      ...landed,
      ...also,
      { type: 'run.replanned', by, prd, prdPath: prdPath ?? state.prdPath, changed: changes.changed, ...choices },
    ];
    // What has landed, or is done or left out in the new PRD, does not start again.
    const again = foldEntries(state, replanned).stories.filter(isRetryable);
    return {
      entries: [
        ...replanned,
        ...(state.paused === undefined ? [] : [{ type: 'run.resumed' as const, by }]),
        ...(state.status === 'ended' ? [{ type: 'run.retried' as const, by, stories: again.map(({ id }) => id) }] : []),
      ],
      result: {
        runId,
        changed: true,
        stories: [...changes.changed, ...changes.added],
        says: [`Resumed with the current PRD: ${textOf(changes)}.`, ...unused].join(' '),
      },
    };
  });
  const { hash, specHash, dialect } = prd;
  await store.amend(runId, { prd: { hash, specHash, dialect } });
  const ended = (await continueRun(keeper, request)) === 'ended';
  return ended
    ? { ...result, says: `The run has the current PRD (${textOf(changes)}); there is nothing to do.` }
    : result;
}

/** Reads the PRD file of a run, if it is on this machine and still exists. */
async function readOwnFile({ prdIsHere, prdPath }: RunState): Promise<PrdFile | undefined> {
  if (!prdIsHere) return undefined;
  return readPrdSource(prdPath).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    if (error instanceof HaloError) throw error;
    throw new HaloError('PRD_UNREADABLE', `The PRD ${prdPath} cannot be read: ${error.message}.`, { cause: error });
  });
}

function parseCurrent({ bytes, path }: PrdFile): Prd {
  try {
    return parsePrd(bytes, path);
  } catch (error) {
    const { message } = toHaloError(error);
    throw new HaloError(
      'CONTROL_REFUSED',
      `The PRD has changed since the run was submitted and is not valid: ${message}`,
      {
        hint: 'Fix or restore the file.',
        cause: error,
      },
    );
  }
}

function assertUnchanged(before: Prd, now: Prd, { runId, prdPath }: RunState): void {
  if (before.specHash === now.specHash) return;
  const what = textOf(comparePrds(before, now), 'other texts, priorities or order');
  throw new HaloError('CONTROL_REFUSED', `The PRD ${prdPath} differs from the PRD of run ${runId}: ${what}.`, {
    hint: `Use it with \`halo resume ${runId} --replan\`, which keeps passed stories, or restore the file.`,
  });
}

/** Undefined for a file that is not a valid PRD. */
function readPrdQuietly({ bytes, path }: PrdFile): Prd | undefined {
  try {
    return parsePrd(bytes, path);
  } catch {
    return undefined;
  }
}

/** A warning if the PRD file of a run, which continues with its own PRD, is there and has changed. */
export async function findChangedPrd(keeper: Pick<RunKeeper, 'store'>, state: RunState): Promise<string[]> {
  const { runId, prdPath } = state;
  const file = await readOwnFile(state).catch(() => undefined);
  if (file === undefined) return [];
  const { prd } = await readRun(keeper, runId);
  const now = readPrdQuietly(file);
  if (now?.specHash === prd.specHash) return [];
  return [
    `The PRD ${safeLine(prdPath)} has changed; the run continues with the PRD that it has. Use the file with \`halo resume ${runId} --replan\`.`,
  ];
}

/** Compares the stories of two PRDs; their order and progress do not count. */
function comparePrds(before: Prd, now: Prd): PrdChanges {
  const old = new Map(before.stories.map((story) => [story.id, story]));
  const ids = new Set(now.stories.map(({ id }) => id));
  return {
    changed: now.stories.filter((story) => differs(old.get(story.id), story)).map(({ id }) => id),
    added: now.stories.filter(({ id }) => !old.has(id)).map(({ id }) => id),
    removed: before.stories.filter(({ id }) => !ids.has(id)).map(({ id }) => id),
  };
}

function differs(before: Story | undefined, now: Story): boolean {
  return before !== undefined && textsOf(before) !== textsOf(now);
}

function textsOf({ title, description, acceptance, dependsOn, extra }: Story): string {
  return JSON.stringify([title, description, acceptance, dependsOn, withoutProgress(extra)]);
}

function textOf({ changed, added, removed }: PrdChanges, otherwise = 'no story has changed'): string {
  const parts = [
    ...(changed.length === 0 ? [] : [`changed: ${changed.join(', ')}`]),
    ...(added.length === 0 ? [] : [`new: ${added.join(', ')}`]),
    ...(removed.length === 0 ? [] : [`gone: ${removed.join(', ')}`]),
  ];
  return parts.length === 0 ? otherwise : parts.join('; ');
}
