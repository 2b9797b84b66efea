import { FORGES, isProject, type ForgeName } from '../forge-name.ts';

/** A project on a forge. */
export interface ForgeProject {
  forge: ForgeName;
  /** `owner/repo`; on GitLab, the path of the project. */
  project: string;
}

/** A project, and the address to push to over HTTP. */
export interface PushTarget extends ForgeProject {
  url: string;
}

/** The base URL of a forge's repositories, if no other one is configured. `api`: the base URL of its API. */
export function repositoriesUrl(forge: ForgeName, api: string): string {
  const { origin, pathname } = new URL(api);
  // GitHub's own servers have the API on a host of its own; all others have it below the address of the forge.
  if (forge === 'github' && pathname === '/') return origin.replace('://api.', '://');
  return `${origin}${pathname.replace(/\/+$/, '').replace(/(?:\/api)?\/v\d+$/, '')}`;
}

/**
 * The project that a remote of a repository is, if one of the forges serves it; undefined otherwise. The address to push to
 * is that of the forge, whatever the remote says. `remote`: `https://host/owner/repo.git`, `ssh://git@host/owner/repo` or
 * `git@host:owner/repo.git`; `forges`: the base URLs of their repositories.
 */
export function findPushTarget(
  remote: string,
  forges: Partial<Record<ForgeName, string | undefined>>,
): PushTarget | undefined {
  const scp = /^[\w.-]+@([\w.-]+):(?!\/\/)(.+)$/.exec(remote);
  const text = scp === null ? remote : `ssh://${scp[1]}/${scp[2]}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return undefined;
  for (const forge of FORGES) {
    const base = forges[forge];
    const path = base === undefined ? undefined : findPath(url, new URL(base));
    const project = path?.replace(/^\/+/, '').replace(/(?:\.git)?\/*$/, '');
    if (project !== undefined && isProject(forge, project))
      return { forge, project, url: `${base?.replace(/\/+$/, '')}/${project}.git` };
  }
  return undefined;
}

/** The path of a remote on a forge. Over ssh, the port and the path are those of the ssh server. */
function findPath({ protocol, origin, hostname, pathname }: URL, base: URL): string | undefined {
  if (['ssh:', 'git+ssh:'].includes(protocol)) return hostname === base.hostname ? pathname : undefined;
  const prefix = base.pathname.replace(/\/+$/, '');
  return origin === base.origin && pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : undefined;
}
