import { HaloError } from '../core/errors.ts';
import type { RunRepo } from '../core/events.ts';
import { mendMirror } from '../git/mend-mirror.ts';
import { inspectRepo } from '../git/repo.ts';
import { isUrl, type Access } from '../git/source.ts';

export interface MirrorOf {
  home: string;
  repo: Pick<RunRepo, 'source' | 'mirror'>;
  /** What the address of the source was given with. */
  access?: Access | undefined;
}

/**
 * Does work that reads the mirror of a repository. When git fails in it and the mirror turns out to be damaged, it is made
 * again, and the work is done once more.
 */
export async function withWholeMirror<T>(mirror: MirrorOf, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(await mendAfter(error, mirror))) throw error;
    return work();
  }
}

/** Whether an error came of a damaged mirror, which has been made again then. Never throws. */
export async function mendAfter(error: unknown, { home, repo, access }: MirrorOf): Promise<boolean> {
  if (!(error instanceof HaloError) || !['GIT_FAILED', 'REPO_UNREACHABLE'].includes(error.code)) return false;
  const { source, mirror: name } = repo;
  try {
    const from = isUrl(source) ? source : (await inspectRepo(source)).gitDir;
    return await mendMirror({ home, name, from, access });
  } catch {
    return false;
  }
}
