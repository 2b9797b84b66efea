import { HaloError } from '../core/failure/errors.ts';
import { repositoriesUrl, type ForgeProject } from '../core/pulls/forge-project.ts';
import type { ForgeName, IssueSource } from '../core/issues/issue-source.ts';
import type { ForgeAccess } from './forge-client.ts';
import type { Forge } from './forge.ts';
import { openGitea } from './gitea/gitea.ts';
import { openGiteaPulls } from './gitea/gitea-pulls.ts';
import { openGiteaReviews } from './gitea/gitea-reviews.ts';
import { openGitHubPulls } from './github/github-pulls.ts';
import { openGitHubReviews } from './github/github-reviews.ts';
import { openGitLabPulls } from './gitlab/gitlab-pulls.ts';
import { openGitLabReviews } from './gitlab/gitlab-reviews.ts';
import type { PullRequests, PullReviews } from './pull-requests.ts';
import { GITHUB_URL, openGitHub, type TokenAccess } from './github/github.ts';
import { GITLAB_URL, openGitLab } from './gitlab/gitlab.ts';
import { defined } from '../lib/guards.ts';
import { mayReceiveCredential } from '../lib/network/credential-target.ts';

interface Adapter {
  open(this: void, project: string, access: TokenAccess): Forge;
  openPulls(this: void, project: string, access: TokenAccess): PullRequests;
  openReviews(this: void, project: string, access: TokenAccess): PullReviews;
  /** Base URL of its API, if it has one server for all. */
  url?: string;
}

const ADAPTERS: Record<ForgeName, Adapter> = {
  github: { open: openGitHub, openPulls: openGitHubPulls, openReviews: openGitHubReviews, url: GITHUB_URL },
  gitlab: { open: openGitLab, openPulls: openGitLabPulls, openReviews: openGitLabReviews, url: GITLAB_URL },
  gitea: { open: openGitea, openPulls: openGiteaPulls, openReviews: openGiteaReviews },
};

/** How to reach a forge. `token`: the value of the variable `tokenEnv`. */
export interface ForgeAddress extends Pick<
  ForgeAccess,
  'maxWaitMs' | 'requestMs' | 'maxTries' | 'connections' | 'signal' | 'wait'
> {
  url?: string | undefined;
  tokenEnv?: string | undefined;
  token: string | undefined;
}

/** Opens the issues of a project. Throws CONFIG_INVALID if the URL or the token is missing. */
export function openForge({ forge, project }: IssueSource, address: ForgeAddress): Forge {
  return ADAPTERS[forge].open(project, requireAccess(forge, address));
}

/** Opens the pull requests of a project. Throws CONFIG_INVALID if the URL or the token is missing. */
export function openPullRequests({ forge, project }: ForgeProject, address: ForgeAddress): PullRequests {
  return ADAPTERS[forge].openPulls(project, requireAccess(forge, address));
}

/** Opens what people and checks say about them. Throws CONFIG_INVALID if the URL or the token is missing. */
export function openPullReviews({ forge, project }: ForgeProject, address: ForgeAddress): PullReviews {
  return ADAPTERS[forge].openReviews(project, requireAccess(forge, address));
}

/** The base URL of the API of a forge: the configured one, or that of its public server if it has one. */
function apiUrlOf(forge: ForgeName, configured: string | undefined): string | undefined {
  return configured ?? ADAPTERS[forge].url;
}

/** The base URL of the repositories of a forge. */
export function gitUrlOf(
  forge: ForgeName,
  { url, git_url: configured }: { url?: string | undefined; git_url?: string | undefined },
): string | undefined {
  const api = apiUrlOf(forge, url);
  return configured ?? (api && repositoriesUrl(forge, api));
}

/** How to reach a forge: its settings and defaults. Throws CONFIG_INVALID if the URL or the token is missing. */
export function requireAccess(forge: ForgeName, address: ForgeAddress): TokenAccess {
  const baseUrl = apiUrlOf(forge, address.url)?.replace(/\/+$/, '');
  const table = `[forge.${forge}] in config.toml of HALO_HOME`;
  if (baseUrl === undefined)
    throw new HaloError('CONFIG_INVALID', `No URL is configured for the forge ${forge}.`, {
      hint: `Set \`url\`, the base URL of its API, below ${table}.`,
    });
  if (!mayReceiveCredential(baseUrl, baseUrl))
    throw new HaloError('CONFIG_INVALID', `The forge ${forge} would get its token without encryption, at ${baseUrl}.`, {
      hint: `Set an https address as \`url\` below ${table}.`,
    });
  if (address.tokenEnv === undefined)
    throw new HaloError('CONFIG_INVALID', `No token is configured for the forge ${forge}.`, {
      hint: `Set \`token_env\`, the name of the variable with the token, below ${table}.`,
    });
  if (address.token === undefined)
    throw new HaloError(
      'CONFIG_INVALID',
      `The variable ${address.tokenEnv}, the token of the forge ${forge}, is not set.`,
      {
        hint: `Export ${address.tokenEnv} in the environment of this process.`,
      },
    );
  const { token, maxWaitMs, requestMs, maxTries, connections, signal, wait } = address;
  return { baseUrl, token, ...defined({ maxWaitMs, requestMs, maxTries, connections, signal, wait }) };
}
