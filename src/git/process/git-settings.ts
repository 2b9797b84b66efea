import { git, type GitOptions } from './git.ts';

/** One setting as git reads it. */
export interface GitSetting {
  /** `local` and `worktree` are files of the repository; all others are the operator's. */
  scope: string;
  /** `file:` and the path, or another origin as git prints it. */
  origin: string;
  /** As git prints it: in lower case, except the middle part. */
  key: string;
  /** Empty for a key without a value. */
  value: string;
}

/** Lists all settings of a repository in order of precedence, including overridden ones. Throws GIT_FAILED. */
export async function listSettings(at: GitOptions): Promise<GitSetting[]> {
  const list = ['config', '--list', '--show-scope', '--show-origin', '-z'];
  const { stdout } = await git(list, { ...at, trust: 'operator' });
  const fields = stdout.toString('utf8').split('\0');
  const settings: GitSetting[] = [];
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [scope = '', origin = '', text = ''] = fields.slice(at, at + 3);
    const end = text.indexOf('\n');
    const [key, value] = end === -1 ? [text, ''] : [text.slice(0, end), text.slice(end + 1)];
    settings.push({ scope, origin, key, value });
  }
  return settings;
}

/** Whether a setting comes from a file of the repository rather than from the operator. */
export function isLocal({ scope }: GitSetting): boolean {
  return scope === 'local' || scope === 'worktree';
}

/**
 * Reads `core.pager` from the user's configuration, else from the system's; undefined if it is not set. Ignores the
 * configuration of repositories, because halo would run the program that it names.
 */
export async function readCorePager(): Promise<string | undefined> {
  for (const scope of ['--global', '--system']) {
    // 1: it is not set, 128: there is no such file.
    const found = await git(['config', scope, '--includes', '--get', 'core.pager'], {
      trust: 'operator',
      ok: [0, 1, 128],
      maxBytes: 64 * 1024,
      timeoutMs: 10_000,
    });
    const pager = found.stdout.toString('utf8').trim();
    if (found.exitCode === 0) return pager;
  }
  return undefined;
}
