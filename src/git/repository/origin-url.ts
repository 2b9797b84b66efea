import { tryGit } from '../process/git.ts';
import { allowBareRepository } from '../process/allow-bare.ts';

/** The address of the remote `origin` of a repository; undefined if it has none. */
export async function findOriginUrl(path: string): Promise<string | undefined> {
  const allowed = await allowBareRepository(path);
  const { exitCode, stdout } = await tryGit([...allowed, 'config', '--get', 'remote.origin.url'], {
    cwd: path,
    trust: 'operator',
  });
  const url = stdout.toString('utf8').trim();
  return exitCode !== 0 || url === '' ? undefined : url;
}
