import { HaloError } from '../../../core/failure/errors.ts';
import type { ForgeName } from '../../../core/forge-name.ts';
import { findPushTarget, type PushTarget } from '../../../core/pulls/forge-project.ts';
import type { RunState } from '../../../core/run/state.ts';
import { stripCredentials } from '../../../core/text/address-credentials.ts';
import { openPullRequests, openPullReviews } from '../../../forge/open-forge.ts';
import type { PullRequests, PullReviews } from '../../../forge/forge.ts';
import { findOriginUrl } from '../../../git/repository/inspect-repo.ts';
import { requireSamePlaces } from '../../../git/repository/repository-places.ts';
import { isUrl, type Login } from '../../../git/repository/repo-url.ts';
import type { Connections } from '../../../lib/network/connections.ts';
import { readForges, WORKER_PATIENCE, type ForgeContext, type ForgeLogin } from '../../../worker/network/forges.ts';
import { openMachineConnections } from '../../../worker/network/machine-connections.ts';

/** The user names with which the forges accept a token as the password of git. */
const LOGINS: Record<ForgeName, string> = { github: 'x-access-token', gitlab: 'oauth2', gitea: 'halo' };

/** Reviews are read again soon: no request waits for a slow forge while other runs wait. */
const REVIEW_PATIENCE = { ...WORKER_PATIENCE, requestMs: 10_000 };

export interface PullTarget {
  pulls: PullRequests;
  /** Where and how the branch is pushed. */
  target: { url: string; login: Login };
  /** The branch into which it is to be merged. */
  base: string;
}

/** The clients of a project, as long as the settings stay the same. */
interface OpenForge {
  /** The settings that they were opened with. */
  fingerprint: string;
  connections: Connections;
  pulls: PullRequests;
  reviews: PullReviews;
}

/** The projects on forges that runs belong to. Clients and connections are kept, so that unchanged answers are not sent again. */
export class PullForges {
  readonly #context: ForgeContext;
  readonly #open = new Map<string, OpenForge>();
  readonly #closing = new AbortController();

  constructor(context: ForgeContext) {
    this.#context = context;
  }

  /**
   * The project of a run's repository: by its address or, for a folder, by its remote `origin`. Registers the token with the
   * masker. Throws CONFIG_INVALID.
   */
  async openTarget(run: Pick<RunState, 'repo'>): Promise<PullTarget> {
    const { found, settings, pulls } = await this.#openProject(run);
    const login = { user: LOGINS[found.forge], password: settings.token ?? '' };
    return { pulls, target: { url: stripCredentials(found.url), login }, base: requireBase(run) };
  }

  /** The reviews and checks of the same project. Throws CONFIG_INVALID. */
  async openReviews(run: Pick<RunState, 'repo'>): Promise<{ reviews: PullReviews; project: string }> {
    const { found, reviews } = await this.#openProject(run);
    return { reviews, project: found.project };
  }

  /** Ends requests that are under way, too. */
  close(): void {
    this.#closing.abort();
    for (const { connections } of this.#open.values()) connections.close();
    this.#open.clear();
  }

  async #openProject(run: Pick<RunState, 'repo'>): Promise<OpenForge & FoundTarget> {
    const target = await requireTarget(this.#context, run);
    const { found, settings, caFile } = target;
    const key = `${found.forge} ${found.project}`;
    const known = this.#open.get(key);
    const fingerprint = JSON.stringify([settings, caFile]);
    if (known?.fingerprint === fingerprint) return { ...known, ...target };
    known?.connections.close();
    const connections = await openMachineConnections(this.#context.env, caFile);
    const { signal } = this.#closing;
    const opened = {
      fingerprint,
      connections,
      pulls: openPullRequests(found, { ...settings, ...WORKER_PATIENCE, connections, signal }),
      reviews: openPullReviews(found, { ...settings, ...REVIEW_PATIENCE, connections, signal }),
    };
    this.#open.set(key, opened);
    return { ...opened, ...target };
  }
}

/** Throws CONFIG_INVALID if no pull request can be opened for a run. The token may be in the environment of workers only. */
export async function assertPullTarget(context: ForgeContext, run: Pick<RunState, 'repo'>): Promise<void> {
  const { found, settings } = await requireTarget(context, run);
  requireBase(run);
  if (settings.tokenEnv === undefined)
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

interface FoundTarget {
  found: PushTarget;
  settings: ForgeLogin;
  caFile: string | undefined;
}

async function requireTarget(context: ForgeContext, { repo }: Pick<RunState, 'repo'>): Promise<FoundTarget> {
  await requireSamePlaces(repo.source, repo.places);
  const remote = isUrl(repo.source) ? repo.source : await findOriginUrl(repo.source);
  if (remote === undefined)
    throw noTarget(`${repo.source} has no remote \`origin\``, 'Add it, or set another `land.mode`.');
  const { gitUrls, settingsOf, caFile } = await readForges(context);
  const found = findPushTarget(remote, gitUrls);
  if (found === undefined)
    throw noTarget(
      `no forge is configured for ${stripCredentials(remote)}`,
      'Set `url` and `token_env` of the forge, and `git_url` if its repositories have another address, below [forge] in config.toml of HALO_HOME.',
    );
  return { found, settings: settingsOf(found.forge), caFile };
}

function noTarget(why: string, hint: string): HaloError {
  return new HaloError('CONFIG_INVALID', `No pull request can be opened: ${why}.`, { hint });
}
