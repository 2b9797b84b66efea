import type { JSX } from 'preact';
import type { StoryState } from '../../../core/run/state.ts';
import { ChoiceOfOne, EmptyState, Problem } from '../../page/page-parts.tsx';
import { readText, runPath, useLoaded } from '../../page/read-server.ts';
import { PatchFiles } from '../../run/attempt/patch-files.tsx';
import { readPatch } from '../../../core/review/read-patch.ts';

/** The attempts whose commits were sent back before the reviewed one, newest first. */
export function earlierRounds(story: StoryState | undefined, commit: string | undefined): number[] {
  const earlier = (story?.feedback ?? []).filter((given) => commit !== undefined && given.commit !== commit);
  return [...new Set(earlier.map(({ attempt }) => attempt))].reverse();
}

interface SinceChoiceProps {
  rounds: readonly number[];
  /** Undefined: the whole change. */
  since: number | undefined;
  onChange: (since: number | undefined) => void;
}

/** The choice between the whole change and what changed since an attempt was sent back. */
export function SinceChoice({ rounds, since, onChange }: SinceChoiceProps): JSX.Element | null {
  if (rounds.length === 0) return null;
  const options = rounds.map((attempt) => ({ value: String(attempt), name: `Since attempt ${attempt}` }));
  return (
    <ChoiceOfOne
      label="Part of the change"
      options={[{ value: '', name: 'Whole change' }, ...options]}
      value={String(since ?? '')}
      onChange={(value) => onChange(value === '' ? undefined : Number(value))}
    />
  );
}

interface SinceDiffProps {
  runId: string;
  story: string;
  since: number;
  commit: string | undefined;
}

/** What changed between a commit that was sent back and the reviewed one. */
export function SinceDiff({ runId, story, since, commit }: SinceDiffProps): JSX.Element {
  const query = `?story=${encodeURIComponent(story)}&since=${since}`;
  const { value, problem } = useLoaded(`${runId} ${query} ${commit}`, async () =>
    readPatch(await readText(runPath(runId, `/diff${query}`))),
  );
  if (problem !== undefined) return <Problem problem={problem} />;
  if (value === undefined) return <EmptyState title="Reading the diff …" />;
  if (value.lines.length === 0)
    return <EmptyState title={`Nothing has changed since attempt ${since} was sent back.`} />;
  const note = <span class="soft">Changes since attempt {since} was sent back. Comment in the whole change.</span>;
  return <PatchFiles patch={value} links={note} />;
}
