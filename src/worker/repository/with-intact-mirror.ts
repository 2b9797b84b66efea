import { HaloError, type ErrorCode } from '../../core/failure/errors.ts';
import type { RunRepo } from '../../core/journal/run-created.ts';
import { repairMirror } from '../../git/mirror/repair-mirror.ts';
import { updateMirror } from '../../git/mirror/mirror.ts';
import { inspectRunRepo } from './host-repository.ts';
import { isUrl, type RemoteAccess } from '../../git/repository/repo-url.ts';

/** The codes of errors that a damaged mirror can cause. */
const MIRROR_ERRORS: readonly ErrorCode[] = ['GIT_FAILED', 'REPO_UNREACHABLE'];

interface MirrorOf {
  home: string;
  repo: Pick<RunRepo, 'source' | 'mirror' | 'places'>;
  /** Credentials for the source, if it is a URL. */
  access?: RemoteAccess | undefined;
}

/**
 * Runs `work`, which reads the mirror of a repository. If git fails and the mirror is damaged, rebuilds it, fetches `tip`
 * from the repository if the mirror has lost it, and runs `work` once more.
 */
export async function withIntactMirror<T>(mirror: MirrorOf & { tip?: string }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const repaired = await repairMirrorAfter(error, mirror);
    const fetched = await fetchTip(error, mirror);
    if (!repaired && !fetched) throw error;
    return work();
  }
}

/** Fetches `tip` from a local repository into the mirror. Returns whether that worked. Never throws. */
async function fetchTip(error: unknown, { home, repo, tip }: MirrorOf & { tip?: string }): Promise<boolean> {
  if (!(error instanceof HaloError) || !MIRROR_ERRORS.includes(error.code)) return false;
  if (tip === undefined || isUrl(repo.source)) return false;
  try {
    const { gitDir } = await inspectRunRepo(repo);
    await updateMirror({ home, name: repo.mirror, from: gitDir, commit: tip });
    return true;
  } catch {
    return false;
  }
}

/** If an error was caused by a damaged mirror, rebuilds the mirror and returns true. Never throws. */
export async function repairMirrorAfter(error: unknown, { home, repo, access }: MirrorOf): Promise<boolean> {
  if (!(error instanceof HaloError) || !MIRROR_ERRORS.includes(error.code)) return false;
  const { source, mirror: name } = repo;
  try {
    const from = isUrl(source) ? source : (await inspectRunRepo(repo)).gitDir;
    return await repairMirror({ home, name, from, access });
  } catch {
    return false;
  }
}
