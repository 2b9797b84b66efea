import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import { refuseTemplate } from '../../core/prd/prd-template.ts';
import type { Prd, Story } from '../../core/prd/prd.ts';
import type { RunState } from '../../core/run-state.ts';
import { readRegularFile } from '../../lib/read-file.ts';
import { MAX_PRD_BYTES } from '../../prd/decode-prd.ts';
import { parsePrd } from '../../prd/parse-prd.ts';
import { isSameWork, withoutProgress } from '../../prd/spec-hash.ts';
import type { RunKeeper } from '../worker-context.ts';
import { readRun } from '../run/read-run.ts';
import { isStuck, refuseNeverBegun } from '../refuse-word.ts';
import { goOn } from '../run/continue-run.ts';
import { resumeRun, type Steered, type Steering } from './control-run.ts';

/** A PRD file: where it is, for people, and its bytes. */
export interface PrdFile {
  path: string;
  bytes: Uint8Array;
  /** It was sent from elsewhere: the path is none of this machine's. */
  remote?: true;
}

/** How two specifications differ, by ids of stories. */
export interface PrdChanges {
  changed: string[];
  added: string[];
  removed: string[];
}

/**
 * Lets a paused run go on, unless the file that it came from asks for something else by now: a person must say whether
 * that counts. Throws STEER_REFUSED. A file that is gone or was never here is no reason: the journal holds the PRD.
 */
export async function resumeUnchanged(keeper: RunKeeper, steering: Steering): Promise<Steered> {
  const { runId } = steering;
  const state = await keeper.store.readState(runId);
  const file = state.status === 'ended' ? undefined : await readOwnFile(state);
  if (file !== undefined) refuseChanged((await readRun(keeper, runId)).prd, parseNow(file), state);
  return resumeRun(keeper, steering);
}

/**
 * Gives a run the PRD as it is now and lets it go on, also after its end: what landed stays, what changed or is new is
 * to be done, what is gone is left out. Throws STEER_REFUSED, and PRD_INVALID and PRD_UNREADABLE for the file.
 */
export async function replanRun(keeper: RunKeeper, steering: Steering, given: PrdFile | undefined): Promise<Steered> {
  const { runId, by, also = [] } = steering;
  const { store } = keeper;
  const before = await store.readState(runId);
  refuseNeverBegun(before);
  const file = given ?? (await readOwnFile(before));
  if (file === undefined) {
    const what = before.prdIsHere ? before.prdPath : `that run ${runId} came from`;
    throw new HaloError('STEER_REFUSED', `The PRD ${what} is not on this machine.`, {
      hint: `Name it: \`halo resume ${runId} --replan prd.json\`.`,
    });
  }
  const prd = parsePrd(file.bytes, file.path);
  refuseTemplate(prd, file.path);
  const changes = comparePrds((await readRun(keeper, runId)).prd, prd);
  const prdPath = given === undefined || given.path === '-' || given.remote ? undefined : given.path;
  const steered = await store.transact(runId, (state) => {
    const again = state.stories.filter(isStuck).map(({ id }) => id);
    return {
      entries: [
        ...also,
        { type: 'run.replanned', by, prd, prdPath: prdPath ?? state.prdPath, changed: changes.changed },
        ...(state.paused === undefined ? [] : [{ type: 'run.resumed' as const, by }]),
        ...(state.status === 'ended' ? [{ type: 'run.retried' as const, by, stories: again }] : []),
      ],
      result: {
        runId,
        changed: true,
        stories: [...changes.changed, ...changes.added],
        says: `It goes on with the PRD as it is now: ${textOf(changes)}.`,
      },
    };
  });
  const { hash, specHash, dialect } = prd;
  await store.amend(runId, { prd: { hash, specHash, dialect } });
  const ended = (await goOn(keeper, steering)) === 'ended';
  return ended ? { ...steered, says: `It has the PRD as it is now (${textOf(changes)}), and nothing to do.` } : steered;
}

/** The file that a run came from, where it is on this machine and still there. */
async function readOwnFile({ prdIsHere, prdPath }: RunState): Promise<PrdFile | undefined> {
  if (!prdIsHere) return undefined;
  const bytes = await readRegularFile(prdPath, MAX_PRD_BYTES).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new HaloError('PRD_UNREADABLE', `The PRD ${prdPath} cannot be read: ${error.message}.`, { cause: error });
  });
  return bytes && { path: prdPath, bytes };
}

function parseNow({ bytes, path }: PrdFile): Prd {
  try {
    return parsePrd(bytes, path);
  } catch (error) {
    const { message } = toHaloError(error);
    throw new HaloError('STEER_REFUSED', `The PRD has changed since the run was made, and is not valid: ${message}`, {
      hint: 'Mend the file, or put back what was there.',
      cause: error,
    });
  }
}

function refuseChanged(before: Prd, now: Prd, { runId, prdPath }: RunState): void {
  if (isSameWork(before, now)) return;
  const what = textOf(comparePrds(before, now));
  throw new HaloError('STEER_REFUSED', `The PRD ${prdPath} asks for something else than run ${runId}: ${what}.`, {
    hint: `\`halo resume ${runId} --replan\` takes it as it is now; what landed stays. Or put the file back.`,
  });
}

/** What another specification means for the stories; the order and the progress of stories are no change of them. */
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

function textOf({ changed, added, removed }: PrdChanges): string {
  const parts = [
    ...(changed.length === 0 ? [] : [`changed: ${changed.join(', ')}`]),
    ...(added.length === 0 ? [] : [`new: ${added.join(', ')}`]),
    ...(removed.length === 0 ? [] : [`gone: ${removed.join(', ')}`]),
  ];
  return parts.length === 0 ? 'no story is another one' : parts.join('; ');
}
