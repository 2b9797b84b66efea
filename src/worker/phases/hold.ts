import { hiddenText } from '../../core/hidden-places.ts';
import { safeLine } from '../../core/safe-text.ts';
import { holdCommit } from '../../git/hold.ts';
import { findProtected } from '../../git/protected-paths.ts';
import type { Attempt } from '../attempt-context.ts';
import { AttemptOver } from '../story-end.ts';
import type { Candidate } from './import.ts';

const NAMED_PATHS = 5;

/**
 * Ends the attempt, and keeps its proven commit for a person to decide on, when it changes protected paths, adds what
 * looks like a secret or hides characters where that is configured, or the configuration asks for a person with every story. It comes after
 * the gates, so that their verdict is there to be read. What a person has approved is not asked again, unless a merge
 * has carried it into files that they did not see.
 */
export async function holdForPerson(attempt: Attempt, { commit, changed, suspects, hidden }: Candidate): Promise<void> {
  const { config, candidateDir, mirrorDir, runId, key, approval } = attempt;
  const unseen = changed.filter(({ path }) => approval?.paths.has(path) !== true);
  if (approval !== undefined && unseen.length === 0) return;
  const guarded = await findProtected(
    changed.map(({ path }) => path),
    config.land.protect,
  );
  const secret = config.secrets.added === 'block' ? suspects.map(({ path }) => path) : [];
  const paths = [...new Set([...guarded, ...secret])];
  const always = config.approval.mode === 'story';
  const hides = config.land.hiddenCharacters === 'block' ? hidden : undefined;
  if (paths.length === 0 && hides === undefined && !always) return;
  const reasons = [
    ...(approval === undefined
      ? []
      : [`since ${approval.by} approved it, the merge moved it to ${namesOf(unseen.map(({ path }) => path))}`]),
    ...(guarded.length === 0 ? [] : [`it changes protected paths: ${namesOf(guarded)}`]),
    ...(hides === undefined ? [] : [`it adds ${hiddenText(hides)}`]),
    ...(secret.length === 0 ? [] : [`it adds what looks like a secret: ${namesOf(secret)}`]),
  ];
  await holdCommit({ candidateDir, mirrorDir, runId, storyKey: key, commit });
  throw new AttemptOver({
    verdict: 'needs_human',
    stopReason: 'NEEDS_HUMAN',
    summary:
      reasons.length === 0
        ? 'the gates pass, and it waits for approval ([approval] mode)'
        : `the gates pass, but ${reasons.join('; ')}`,
    held: { commit, paths },
  });
}

function namesOf(paths: string[]): string {
  const named = paths.slice(0, NAMED_PATHS).map((path) => safeLine(path));
  return [...named, ...(paths.length > NAMED_PATHS ? [`${paths.length - NAMED_PATHS} more`] : [])].join(', ');
}
