import { z } from 'zod';
import { HaloError } from '../core/failure/errors.ts';
import type { ForgeName, IssueSource } from '../core/issues/issue-source.ts';
import { repositoriesUrl, type ForgeProject } from '../core/pulls/forge-project.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { defined } from '../lib/guards.ts';
import { mayReceiveCredential } from '../lib/network/credential-target.ts';
import { ForgeClient, type ForgeAccess, type ForgeResponse, type Route, type TokenAccess } from './forge-client.ts';
import type { Forge, PullRequests, PullReviews } from './forge.ts';
import { giteaHeaders, openGitea, openGiteaPulls, openGiteaReviews } from './gitea.ts';
import { GITHUB_URL, githubHeaders, openGitHub, openGitHubPulls, openGitHubReviews } from './github.ts';
import { GITLAB_URL, gitlabHeaders, openGitLab, openGitLabPulls, openGitLabReviews } from './gitlab.ts';

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
  { url, gitUrl: configured }: { url?: string | undefined; gitUrl?: string | undefined },
): string | undefined {
  const api = apiUrlOf(forge, url);
  return configured ?? (api && repositoriesUrl(forge, api));
}

/** How to reach a forge: its settings and defaults. Throws CONFIG_INVALID if the URL or the token is missing. */
function requireAccess(forge: ForgeName, address: ForgeAddress): TokenAccess {
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

/** What a forge says about a token. `missing`: the permission that it lacks. */
interface TokenCheck {
  baseUrl: string;
  missing?: string;
}

interface TokenProbe {
  /** A read that every sufficient token may make, whatever its projects are. */
  route: Route;
  headers: (token: string) => Record<string, string>;
  findMissing: (response: ForgeResponse, withReports: boolean) => string | undefined;
}

const REQUEST_MS = 10_000;

const PROBES: Record<ForgeName, TokenProbe> = {
  // GitHub Enterprise responds with 404 if it has no rate limits.
  github: { route: 'GET /rate_limit', headers: githubHeaders, findMissing: findMissingGitHubScope },
  gitlab: { route: 'GET /personal_access_tokens/self', headers: gitlabHeaders, findMissing: findMissingGitLabScope },
  // Needs the scope `read:issue`; whether the token may write cannot be read.
  gitea: { route: 'GET /repos/issues/search?limit=1', headers: giteaHeaders, findMissing: () => undefined },
};

/**
 * Asks a forge with one request whether it accepts the token, for reading issues or also for reports. Throws CONFIG_INVALID if the URL or the token is missing,
 * and FORGE_FAILED if the forge does not answer or refuses the token.
 */
export async function checkToken(
  forge: ForgeName,
  { withReports, ...address }: ForgeAddress & { withReports: boolean },
): Promise<TokenCheck> {
  const { baseUrl, token, connections } = requireAccess(forge, address);
  const { route, headers, findMissing } = PROBES[forge];
  const access = { baseUrl, headers: headers(token), requestMs: REQUEST_MS, maxTries: 1, ...defined({ connections }) };
  const missing = findMissing(await new ForgeClient({ probe: route }, access).call('probe'), withReports);
  return { baseUrl, ...(missing === undefined ? {} : { missing }) };
}

/** Only classic tokens have scopes; the permissions of others are known per project only. */
function findMissingGitHubScope({ scopes }: ForgeResponse): string | undefined {
  if (scopes === undefined) return undefined;
  const has = scopes.split(',').map((scope) => scope.trim());
  return has.includes('repo') || has.includes('public_repo') ? undefined : 'the scope `repo` or `public_repo`';
}

const GitLabTokenShape = z.looseObject({ scopes: z.array(z.string()) });

/** A server before 15.5 does not know this request. */
function findMissingGitLabScope({ value, isMissing }: ForgeResponse, withReports: boolean): string | undefined {
  const scopes = isMissing ? undefined : GitLabTokenShape.safeParse(value).data?.scopes;
  if (scopes === undefined || scopes.includes('api') || (!withReports && scopes.includes('read_api'))) return undefined;
  return `the scope \`${withReports ? 'api' : 'read_api'}\`: it has ${safeLine(scopes.join(', '), 200) || 'none'}`;
}
