import { safeLine } from '../../core/safe-text.ts';
import { holdCommit } from '../../git/hold.ts';
import { findProtected } from '../../git/protected-paths.ts';
import type { Attempt } from '../attempt-context.ts';
import { AttemptOver } from '../story-end.ts';
import type { Candidate } from './import.ts';

const NAMED_PATHS = 5;

/**
 * Ends the attempt, and keeps its proven commit for a person to decide on, when it changes protected paths. It comes
 * after the gates, so that their verdict is there to be read.
 */
export async function holdProtected(attempt: Attempt, { commit, changed }: Candidate): Promise<void> {
  const { config, candidateDir, mirrorDir, runId, key } = attempt;
  const paths = findProtected(
    changed.map(({ path }) => path),
    config.land.protect,
  );
  if (paths.length === 0) return;
  await holdCommit({ candidateDir, mirrorDir, runId, storyKey: key, commit });
  throw new AttemptOver({
    verdict: 'needs_human',
    stopReason: 'NEEDS_HUMAN',
    summary: `the gates pass, but it changes protected paths: ${namesOf(paths)}`,
    held: { commit, paths },
  });
}

function namesOf(paths: string[]): string {
  const named = paths.slice(0, NAMED_PATHS).map((path) => safeLine(path));
  return [...named, ...(paths.length > NAMED_PATHS ? [`${paths.length - NAMED_PATHS} more`] : [])].join(', ');
}
