import { FORGES, isProject, type ForgeName } from '../issues/issue-source.ts';

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

/** The servers whose API has another host. */
const API_HOSTS: Record<string, string> = { 'github.com': 'api.github.com' };
/**
 * The project that a remote of a repository is, if one of the forges serves its host; undefined otherwise. `remote`:
 * `https://host/owner/repo.git`, `ssh://git@host/owner/repo` or `git@host:owner/repo.git`; `apis`: their base URLs.
 */
export function findPushTarget(
  remote: string,
  apis: Partial<Record<ForgeName, string | undefined>>,
): PushTarget | undefined {
  const scp = /^[\w.-]+@([\w.-]+):(?!\/\/)(.+)$/.exec(remote);
  const text = scp === null ? remote : `ssh://${scp[1]}/${scp[2]}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:', 'ssh:', 'git+ssh:'].includes(url.protocol)) return undefined;
  const project = url.pathname.replace(/^\/+/, '').replace(/(?:\.git)?\/*$/, '');
  const host = API_HOSTS[url.hostname] ?? url.hostname;
  const forge = FORGES.find((each) => {
    const api = apis[each];
    return api !== undefined && URL.canParse(api) && new URL(api).hostname === host;
  });
  if (forge === undefined || !isProject(forge, project)) return undefined;
  const isHttp = /^https?:$/.test(url.protocol);
  const address = isHttp ? `${url.origin}${url.pathname}` : `https://${url.hostname}/${project}.git`;
  return { forge, project, url: address };
}
