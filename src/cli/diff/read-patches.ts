import type { Operations } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { RunState, StoryState } from '../../core/run-state.ts';
import { safeLine } from '../../core/safe-text.ts';
import { attemptOf, storyOf, type AttemptRef } from '../logs/attempt-files.ts';

export interface WantedPatch {
  story?: string;
  attempt?: number;
  byStory?: true;
}

export interface Patches {
  patches: { patch: Buffer; heading?: string }[];
  /** What a reader must know of them, e.g. that the change has not landed. */
  note?: string;
}

/**
 * The patch of a run or, by story, those of its landed stories. Of one story what it landed or, where it has not or an
 * attempt is named, what that attempt made. Throws STORY_NOT_FOUND, ARTIFACT_UNREADABLE, USAGE.
 */
export async function readPatches(operations: Operations, runId: string, wanted: WantedPatch): Promise<Patches> {
  const { story: id, attempt, byStory } = wanted;
  if (byStory && (id ?? attempt) !== undefined)
    throw new HaloError('USAGE', '--by-story shows all stories: it does not go with --story or --attempt.', {
      hint: 'Leave one of them out.',
    });
  const { state } = await operations.get(runId);
  if (byStory) return patchesByStory(operations, state);
  if (id === undefined && attempt === undefined) {
    const patch = await operations.diff(state.runId, undefined);
    const stuck = state.stories.find(({ progress, attempts }) => progress === 'failed' && attempts > 0);
    if (patch.length > 0 || stuck === undefined) return { patches: [{ patch }] };
    const note = `nothing landed; what ${safeLine(stuck.id)} made: halo diff ${state.runId} --story ${safeLine(stuck.id)}`;
    return { patches: [{ patch }], note };
  }
  const story = id === undefined ? attemptOf(state, wanted).story : storyOf(state, id);
  const landed = story.commit ?? story.held?.commit ?? story.approved?.commit;
  if (attempt === undefined && landed !== undefined)
    return { patches: [{ patch: await operations.diff(state.runId, story.id) }] };
  const ref = attemptOf(state, { ...wanted, story: story.id });
  return { patches: [{ patch: await patchOf(operations, state, ref) }], note: standing(ref) };
}

async function patchesByStory(operations: Operations, { runId, stories }: RunState): Promise<Patches> {
  const patches: Patches['patches'] = [];
  for (const { id, title, commit } of stories) {
    if (commit === undefined) continue;
    const heading = `${safeLine(id)}  ${safeLine(title)}  ${commit.slice(0, 7)}`;
    patches.push({ patch: await operations.diff(runId, id), heading });
  }
  return { patches };
}

/** What an attempt made, as it came through the import. */
async function patchOf(operations: Operations, { runId }: RunState, { story, attempt }: AttemptRef): Promise<Buffer> {
  const path = `${story.key}/${attempt}/diff.patch`;
  if ((await operations.artifacts(runId)).some((artifact) => artifact.path === path))
    return operations.artifact(runId, path);
  const which = `Attempt ${attempt} at story ${story.id}`;
  throw new HaloError('ARTIFACT_UNREADABLE', `${which} left no diff: it did not come as far as the import.`, {
    hint: `\`halo logs ${runId} --story ${story.id} --attempt ${attempt}\` shows what it did.`,
  });
}

/** E.g. `not landed: attempt 3 of 3, GATE_FAILED`. */
function standing({ story, attempt }: AttemptRef): string {
  const isLast = attempt === story.attempts;
  const how = isLast ? endOf(story) : '';
  const landed = isLast && story.commit !== undefined ? 'landed' : 'not landed';
  return `${landed}: attempt ${attempt} of ${story.attempts}${how}`;
}

function endOf({ progress, stopReason }: StoryState): string {
  if (progress === 'in_progress') return ', under way';
  return stopReason === undefined || stopReason === 'SUCCESS' ? '' : `, ${stopReason}`;
}
