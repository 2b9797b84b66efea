import { tryGit } from './process/git.ts';

/** Which of these folders of a checkout, as paths from its top, the repository's own rules do not ignore. */
export async function findNotIgnored(root: string, folders: readonly string[]): Promise<string[]> {
  const settings = { 'core.excludesFile': '/dev/null' };
  const asked = folders.map(async (folder) => {
    const args = ['check-ignore', '--quiet', '--no-index', '--', `${folder}/`];
    const { exitCode } = await tryGit(args, { cwd: root, trust: 'operator', settings });
    return exitCode === 0 ? [] : [folder];
  });
  return (await Promise.all(asked)).flat();
}
