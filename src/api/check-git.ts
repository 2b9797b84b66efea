import { gitText } from '../git/process/git.ts';
import { isOlder } from '../lib/version-order.ts';
import type { Finding } from './finding.ts';

/** The first that merges trees without a checkout. */
const MERGES = '2.38';

/** The version of git, and whether it can merge what stories did beside each other. Throws GIT_FAILED. */
export async function checkGit(): Promise<Finding> {
  const says = (await gitText(['version'])).replace('git version ', '');
  if (!isOlder(says, MERGES)) return { name: 'git', ok: 'ok', says };
  return {
    name: 'git',
    ok: 'warn',
    says: `${says} cannot put together what stories of a run did at once`,
    mend: `install git ${MERGES} or newer, or leave run.parallel at 1`,
  };
}
