import type { Operations } from '../../api/operations.ts';
import { prunedText } from '../../core/run/pruned.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { storyOf, type RunState, type StoryState } from '../../core/run/state.ts';
import { printableShellWord, safeLine } from '../../core/text/safe-text.ts';
import { attemptOf, type StoryAttempt } from '../logs/attempt-files.ts';

export interface WantedPatch {
  story?: string;
  attempt?: number;
  byStory?: true;
  /** An attempt that was sent back: only what changed after it. */
  since?: number;
}

interface Patches {
  patches: { patch: Buffer; heading?: string }[];
  /** A note for the reader: that the change has not landed or, without patches, where the changes are. */
  note?: string;
}

/**
 * The patch of a run or, by story, those of its passed stories. For a story: its landed commit, or the patch of
 * `attempt` if that is given or the story has not landed. Throws STORY_NOT_FOUND, ARTIFACT_UNREADABLE, USAGE.
 */
export async function readPatches(operations: Operations, runId: string, wanted: WantedPatch): Promise<Patches> {
  const { story: id, attempt, byStory, since } = wanted;
  if (byStory && (id ?? attempt) !== undefined)
    throw new HaloError('USAGE', '--by-story cannot be combined with --story or --attempt.', {
      hint: 'Use one of them.',
    });
  if (since !== undefined && (id === undefined || (attempt ?? byStory) !== undefined))
    throw new HaloError('USAGE', '--since needs --story, and cannot be combined with --attempt or --by-story.', {
      hint: 'Name the story as well, for example `halo diff --story US-002 --since 1`.',
    });
  const { state } = await operations.getRun({ runId });
  if (since !== undefined)
    return { patches: [{ patch: await operations.readDiff({ runId: state.runId, story: id, since }) }] };
  if (byStory) return patchesByStory(operations, state);
  if (id === undefined && attempt === undefined) {
    const patch = await operations.readDiff({ runId: state.runId });
    const stuck = state.stories.find(({ progress, attempts }) => progress === 'failed' && attempts > 0);
    if (patch.length > 0 || stuck === undefined) return { patches: [{ patch }] };
    const note = `nothing passed; changes of ${safeLine(stuck.id)}: halo diff ${state.runId} --story ${printableShellWord(stuck.id)}`;
    return { patches: [], note };
  }
  const story = id === undefined ? attemptOf(state, wanted).story : storyOf(state, id);
  const landed = story.held?.commit ?? story.approved?.commit ?? story.commit;
  if (attempt === undefined && landed !== undefined)
    return { patches: [{ patch: await operations.readDiff({ runId: state.runId, story: story.id }) }] };
  const ref = attemptOf(state, { ...wanted, story: story.id });
  return { patches: [await patchOf(operations, state, ref)], note: describeAttempt(ref) };
}

async function patchesByStory(operations: Operations, { runId, stories }: RunState): Promise<Patches> {
  const patches: Patches['patches'] = [];
  for (const { id, title, commit } of stories) {
    if (commit === undefined) continue;
    const heading = `${safeLine(id)}  ${safeLine(title)}  ${commit.slice(0, 7)}`;
    patches.push({ patch: await operations.readDiff({ runId, story: id }), heading });
  }
  return { patches };
}

/** The patches of an attempt, below its artifacts: the first that exists is its last work. */
const ATTEMPT_PATCHES: { name: string; heading?: string }[] = [
  { name: 'diff.patch' },
  { name: 'tests/diff.patch', heading: 'the tests that the attempt wrote first; nothing was implemented' },
];

/** The patch of an attempt, as imported. */
async function patchOf(
  operations: Operations,
  { runId, pruned }: RunState,
  { story, attempt }: StoryAttempt,
): Promise<Patches['patches'][number]> {
  const { artifacts } = await operations.listArtifacts({ runId });
  const paths = new Set(artifacts.map(({ path }) => path));
  for (const { name, heading } of ATTEMPT_PATCHES) {
    const path = `${story.key}/${attempt}/${name}`;
    if (!paths.has(path)) continue;
    return { patch: await operations.readArtifact({ runId, path, whole: false }), ...(heading && { heading }) };
  }
  if (pruned !== undefined) throw new HaloError('ARTIFACT_UNREADABLE', prunedText({ runId, pruned }));
  const which = `Attempt ${attempt} at story ${story.id}`;
  throw new HaloError('ARTIFACT_UNREADABLE', `${which} left no diff: it did not reach the import phase.`, {
    hint: `Run \`halo logs ${runId} --story ${printableShellWord(story.id)} --attempt ${attempt}\` to see what it did.`,
  });
}

/** E.g. `not passed: attempt 3 of 3, GATE_FAILED`. */
function describeAttempt({ story, attempt }: StoryAttempt): string {
  const isLast = attempt === story.attempts;
  const how = isLast ? endOf(story) : '';
  const result = isLast && story.commit !== undefined ? 'passed' : 'not passed';
  return `${result}: attempt ${attempt} of ${story.attempts}${how}`;
}

function endOf({ progress, stopReason }: StoryState): string {
  if (progress === 'in_progress') return ', in progress';
  return stopReason === undefined || stopReason === 'SUCCESS' ? '' : `, ${stopReason}`;
}
