import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { git } from './process/git.ts';

/** Makes a repository with a branch `main` of one commit that holds these files (plain names to contents). Throws GIT_FAILED. */
export async function makeRepo(dir: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  for (const [name, content] of Object.entries(files)) await writeFile(join(dir, name), content);
  await git(['init', '--quiet', '--template=', '--initial-branch=main', dir]);
  const options = { gitDir: join(dir, '.git'), cwd: dir, env: { GIT_WORK_TREE: dir, ...IDENTITY } };
  await git(['add', '--force', '--', ...Object.keys(files)], options);
  await git(['commit', '--quiet', '--no-verify', '-m', 'what there is'], options);
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'halo',
  GIT_AUTHOR_EMAIL: 'halo@localhost',
  GIT_COMMITTER_NAME: 'halo',
  GIT_COMMITTER_EMAIL: 'halo@localhost',
};
