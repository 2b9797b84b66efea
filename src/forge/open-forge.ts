import { HaloError } from '../core/failure/errors.ts';
import type { ForgeName } from '../core/forge-name.ts';
import type { IssueSource } from '../core/issues/issue-source.ts';
import { repositoriesUrl, type ForgeProject } from '../core/pulls/forge-project.ts';
import { defined } from '../lib/guards.ts';
import { mayReceiveCredential } from '../lib/network/credential-target.ts';
import { ForgeClient, type ForgeAccess } from './forge-client.ts';
import type { Forge, ForgeAdapter, PullRequests, PullReviews } from './forge.ts';
import { gitea } from './gitea.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';

const ADAPTERS: Record<ForgeName, ForgeAdapter> = { github, gitlab, gitea };

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
  return ADAPTERS[forge].openIssues(requireProject(forge, project, address));
}

/** Opens the pull requests of a project. Throws CONFIG_INVALID if the URL or the token is missing. */
export function openPullRequests({ forge, project }: ForgeProject, address: ForgeAddress): PullRequests {
  return ADAPTERS[forge].openPulls(requireProject(forge, project, address), project);
}

/** Opens what people and checks say about them. Throws CONFIG_INVALID if the URL or the token is missing. */
export function openPullReviews({ forge, project }: ForgeProject, address: ForgeAddress): PullReviews {
  return ADAPTERS[forge].openReviews(requireProject(forge, project, address));
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

function requireProject(forge: ForgeName, project: string, address: ForgeAddress): ForgeAccess {
  return { ...requireAccess(forge, address), params: ADAPTERS[forge].params(project) };
}

/** How to reach a forge: its settings and defaults. Throws CONFIG_INVALID if the URL or the token is missing. */
function requireAccess(forge: ForgeName, address: ForgeAddress): ForgeAccess {
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
  return {
    baseUrl,
    headers: ADAPTERS[forge].headers(token),
    ...defined({ maxWaitMs, requestMs, maxTries, connections, signal, wait }),
  };
}

/** What a forge says about a token. `missing`: the permission that it lacks. */
interface TokenCheck {
  baseUrl: string;
  missing?: string;
}

const REQUEST_MS = 10_000;

/**
 * Asks a forge with one request whether it accepts the token, for reading issues or also for reports. Throws CONFIG_INVALID if the URL or the token is missing,
 * and FORGE_FAILED if the forge does not answer or refuses the token.
 */
export async function checkToken(
  forge: ForgeName,
  { withReports, ...address }: ForgeAddress & { withReports: boolean },
): Promise<TokenCheck> {
  const { baseUrl, headers, connections } = requireAccess(forge, address);
  const { probe, findMissing } = ADAPTERS[forge];
  const access = { baseUrl, headers, requestMs: REQUEST_MS, maxTries: 1, ...defined({ connections }) };
  const missing = findMissing(await new ForgeClient({ probe }, access).call('probe'), withReports);
  return { baseUrl, ...defined({ missing }) };
}
