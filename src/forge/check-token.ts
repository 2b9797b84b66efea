import { z } from 'zod';
import type { ForgeName } from '../core/issues/issue-source.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { defined } from '../lib/guards.ts';
import { ForgeClient, type ForgeResponse, type Route } from './forge-client.ts';
import { giteaHeaders } from './gitea/gitea.ts';
import { githubHeaders } from './github/github.ts';
import { gitlabHeaders } from './gitlab/gitlab.ts';
import { requireAccess, type ForgeAddress } from './open-forge.ts';

/** What a forge says about a token. `missing`: the permission that it lacks. */
export interface TokenCheck {
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
