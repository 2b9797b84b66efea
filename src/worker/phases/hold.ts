import { hiddenText } from '../../core/text/hidden-places.ts';
import { safeLine } from '../../core/safe-text.ts';
import { holdCommit } from '../../git/hold.ts';
import type { Attempt } from '../attempt-context.ts';
import { AttemptOver } from '../story-end.ts';
import type { Candidate } from './import.ts';
import { judgePaths } from '../attempt/phases/judge-paths.ts';

const NAMED_PATHS = 5;

/**
 * Ends the attempt, and keeps its proven commit for a person to decide on, when it changes protected paths, adds what
 * looks like a secret or hides characters where that is configured, or the configuration asks for a person with every story. It comes after
 * the gates, so that their verdict is there to be read. What a person has approved is not asked again, unless a merge
 * has carried it into files that they did not see.
 */
export async function holdForPerson(attempt: Attempt, candidate: Candidate): Promise<void> {
  const { commit, changed, suspects, hidden } = candidate;
  const { config, candidateDir, mirrorDir, runId, key, approval } = attempt;
  const unseen = changed.filter(({ path }) => approval?.paths.has(path) !== true);
  if (approval !== undefined && unseen.length === 0) return;
  const guarded = await judgePaths(attempt, candidate);
  const secret = config.secrets.added === 'block' ? suspects.map(({ path }) => path) : [];
  const paths = [...new Set([...guarded.paths, ...secret])];
  const always = config.approval.mode === 'story';
  const hides = config.land.hiddenCharacters === 'block' ? hidden : undefined;
  if (paths.length === 0 && hides === undefined && !always) return;
  const reasons = [
    ...(approval === undefined
      ? []
      : [`since ${approval.by} approved it, the merge moved it to ${namesOf(unseen.map(({ path }) => path))}`]),
    ...(guarded.named.length === 0 ? [] : [`it changes protected paths: ${listSome(guarded.named)}`]),
    ...(guarded.prds.length === 0 ? [] : [`it changes ${listSome(guarded.prds)}`]),
    ...(hides === undefined ? [] : [`it adds ${hiddenText(hides)}`]),
    ...(secret.length === 0 ? [] : [`it adds what looks like a secret: ${namesOf(secret)}`]),
  ];
  await holdCommit({ candidateDir, mirrorDir, runId, storyKey: key, commit });
  throw new AttemptOver({
    verdict: 'needs_human',
    stopReason: 'NEEDS_HUMAN',
    summary:
      reasons.length === 0
        ? 'the gates pass; it waits for approval (approval.mode = "story")'
        : `the gates pass, but ${reasons.join('; ')}`,
    held: { commit, paths },
  });
}

function namesOf(paths: string[]): string {
  return listSome(paths.map((path) => safeLine(path)));
}

function listSome(texts: string[]): string {
  const more = texts.length > NAMED_PATHS ? [`${texts.length - NAMED_PATHS} more`] : [];
  return [...texts.slice(0, NAMED_PATHS), ...more].join(', ');
}
