import { HaloError, type ErrorCode } from '../core/failure/errors.ts';
import type { RunRepo } from '../core/journal/events.ts';
import { mendMirror } from '../git/mirror/repair-mirror.ts';
import { updateMirror } from '../git/mirror/mirror.ts';
import { inspectRepo } from '../git/repository/inspect-repo.ts';
import { isUrl, type Access } from '../git/repository/repo-url.ts';

/** Its errors are those of git in a mirror. */
const OF_MIRROR: readonly ErrorCode[] = ['GIT_FAILED', 'REPO_UNREACHABLE'];

export interface MirrorOf {
  home: string;
  repo: Pick<RunRepo, 'source' | 'mirror'>;
  /** What the address of the source was given with. */
  access?: Access | undefined;
}

/**
 * Does work that reads the mirror of a repository. When git fails in it and the mirror turns out to be damaged, it is made
 * again; where it has lost `tip`, as when the refs themselves were damaged, that comes from the repository. Then the work
 * is done once more.
 */
export async function withWholeMirror<T>(mirror: MirrorOf & { tip?: string }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const mended = await mendAfter(error, mirror);
    const brought = await bringBack(error, mirror);
    if (!mended && !brought) throw error;
    return work();
  }
}

/** Whether that commit is in the mirror now. An address is not asked. Never throws. */
async function bringBack(error: unknown, { home, repo, tip }: MirrorOf & { tip?: string }): Promise<boolean> {
  if (!(error instanceof HaloError) || !OF_MIRROR.includes(error.code)) return false;
  if (tip === undefined || isUrl(repo.source)) return false;
  try {
    const { gitDir } = await inspectRepo(repo.source);
    await updateMirror({ home, name: repo.mirror, from: gitDir, commit: tip });
    return true;
  } catch {
    return false;
  }
}

/** Whether an error came of a damaged mirror, which has been made again then. Never throws. */
export async function mendAfter(error: unknown, { home, repo, access }: MirrorOf): Promise<boolean> {
  if (!(error instanceof HaloError) || !OF_MIRROR.includes(error.code)) return false;
  const { source, mirror: name } = repo;
  try {
    const from = isUrl(source) ? source : (await inspectRepo(source)).gitDir;
    return await mendMirror({ home, name, from, access });
  } catch {
    return false;
  }
}
