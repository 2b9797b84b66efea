import { gitText } from '../../git/process/git.ts';
import { isOlderVersion } from '../../lib/version.ts';
import type { Finding } from './doctor-finding.ts';

/** The first version that merges trees without a checkout. */
const MERGES = '2.38';

/** Checks that git can merge stories that ran in parallel. Throws GIT_FAILED. */
export async function checkGit(): Promise<Finding> {
  const says = (await gitText(['version'])).replace('git version ', '');
  if (!isOlderVersion(says, MERGES)) return { name: 'git', ok: 'ok', says };
  return {
    name: 'git',
    ok: 'warn',
    says: `${says} cannot merge parallel stories of a run`,
    fix: `install git ${MERGES} or newer, or leave run.parallel at 1`,
  };
}
