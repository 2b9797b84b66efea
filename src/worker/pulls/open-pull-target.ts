import { HaloError } from '../../core/failure/errors.ts';
import type { ForgeName } from '../../core/issues/issue-source.ts';
import { findPushTarget, type PushTarget } from '../../core/pulls/forge-project.ts';
import type { RunState } from '../../core/run/state.ts';
import { stripCredentials } from '../../core/text/address-credentials.ts';
import { openPullRequests, openPullReviews, type ForgeAddress } from '../../forge/open-forge.ts';
import type { PullRequests, PullReviews } from '../../forge/pull-requests.ts';
import { findOriginUrl } from '../../git/repository/origin-url.ts';
import { isUrl, type Login } from '../../git/repository/repo-url.ts';
import { readForges, type ConfiguredForges, type ForgeContext } from '../issues/open-issue-source.ts';

/** The user names with which the forges accept a token as the password of git. */
const LOGINS: Record<ForgeName, string> = { github: 'x-access-token', gitlab: 'oauth2', gitea: 'halo' };

/** Reviews are read again soon: no request waits for a slow forge while other runs wait. */
const PATIENCE = { requestMs: 10_000, maxTries: 2, maxWaitMs: 5_000 };

export interface PullTarget {
  pulls: PullRequests;
  /** Where and how the branch is pushed. */
  target: { url: string; login: Login };
  /** The branch into which it is to be merged. */
  base: string;
}

/**
 * Finds the project of a run's repository on a forge: by its address or, for a folder, by its remote `origin`. Registers the
 * token with the masker. Throws CONFIG_INVALID.
 */
export async function openPullTarget(context: ForgeContext, run: Pick<RunState, 'repo'>): Promise<PullTarget> {
  const { found, address } = await resolveTarget(context, run);
  return {
    pulls: openPullRequests(found, address),
    target: { url: stripCredentials(found.url), login: { user: LOGINS[found.forge], password: address.token ?? '' } },
    base: requireBase(run),
  };
}

/** Throws CONFIG_INVALID if no pull request can be opened for a run. The token may be in the environment of workers only. */
export async function assertPullTarget(context: ForgeContext, run: Pick<RunState, 'repo'>): Promise<void> {
  const { found, tokenEnv } = await findTarget(context, run);
  requireBase(run);
  if (tokenEnv === undefined)
    throw noTarget(
      `no token is configured for the forge ${found.forge}`,
      `Set \`token_env\`, the name of the variable with the token, below [forge.${found.forge}] in config.toml of HALO_HOME.`,
    );
}

function requireBase({ repo }: Pick<RunState, 'repo'>): string {
  if (repo.branch !== undefined) return repo.branch;
  throw noTarget(
    'the run started from a commit that no branch was checked out for',
    'Check out a branch, and submit again.',
  );
}

/** Opens the reviews and checks of the same project. Throws CONFIG_INVALID. */
export async function openReviewTarget(
  context: ForgeContext,
  run: Pick<RunState, 'repo'>,
): Promise<{ reviews: PullReviews; project: string }> {
  const { found, address } = await resolveTarget(context, run);
  return { reviews: openPullReviews(found, { ...address, ...PATIENCE }), project: found.project };
}

async function resolveTarget(
  context: ForgeContext,
  run: Pick<RunState, 'repo'>,
): Promise<{ found: PushTarget; address: ForgeAddress }> {
  const { found, addressOf } = await findTarget(context, run);
  return { found, address: await addressOf(found.forge) };
}

async function findTarget(
  context: ForgeContext,
  { repo }: Pick<RunState, 'repo'>,
): Promise<{ found: PushTarget; tokenEnv: string | undefined } & Pick<ConfiguredForges, 'addressOf'>> {
  const remote = isUrl(repo.source) ? repo.source : await findOriginUrl(repo.source);
  if (remote === undefined)
    throw noTarget(`${repo.source} has no remote \`origin\``, 'Add it, or set another `land.mode`.');
  const { apis, tokenEnvs, addressOf } = await readForges(context);
  const found = findPushTarget(remote, apis);
  if (found === undefined)
    throw noTarget(
      `no forge is configured for ${stripCredentials(remote)}`,
      'Set `url` and `token_env` of the forge below [forge] in config.toml of HALO_HOME.',
    );
  return { found, tokenEnv: tokenEnvs[found.forge], addressOf };
}

function noTarget(why: string, hint: string): HaloError {
  return new HaloError('CONFIG_INVALID', `No pull request can be opened: ${why}.`, { hint });
}
