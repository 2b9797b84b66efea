import { HaloError } from '../core/failure/errors.ts';
import type { ForgeName, IssueSource } from '../core/issues/issue-source.ts';
import type { ForgeAccess } from './forge-client.ts';
import type { Forge } from './forge.ts';
import { openGitea } from './gitea/gitea.ts';
import { GITHUB_URL, openGitHub, type TokenAccess } from './github/github.ts';
import { GITLAB_URL, openGitLab } from './gitlab/gitlab.ts';
import { defined } from '../lib/guards.ts';

const ADAPTERS: Record<ForgeName, { open: (project: string, access: TokenAccess) => Forge; url?: string }> = {
  github: { open: openGitHub, url: GITHUB_URL },
  gitlab: { open: openGitLab, url: GITLAB_URL },
  gitea: { open: openGitea },
};

/** How to reach a forge. `token`: the value of the variable `tokenEnv`. */
export interface ForgeAddress extends Pick<ForgeAccess, 'maxWaitMs' | 'requestMs' | 'maxTries' | 'connections'> {
  url?: string | undefined;
  tokenEnv?: string | undefined;
  token: string | undefined;
}

/** Opens the issues of a project. Throws CONFIG_INVALID if the URL or the token is missing. */
export function openForge({ forge, project }: IssueSource, address: ForgeAddress): Forge {
  return ADAPTERS[forge].open(project, requireAccess(forge, address));
}

/** How to reach a forge: its settings and defaults. Throws CONFIG_INVALID if the URL or the token is missing. */
export function requireAccess(forge: ForgeName, address: ForgeAddress): TokenAccess {
  const { url } = ADAPTERS[forge];
  const baseUrl = (address.url ?? url)?.replace(/\/+$/, '');
  const table = `[forge.${forge}] in config.toml of HALO_HOME`;
  if (baseUrl === undefined)
    throw new HaloError('CONFIG_INVALID', `No URL is configured for the forge ${forge}.`, {
      hint: `Set \`url\`, the base URL of its API, below ${table}.`,
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
  const { token, maxWaitMs, requestMs, maxTries, connections } = address;
  return { baseUrl, token, ...defined({ maxWaitMs, requestMs, maxTries, connections }) };
}
