import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolders, syncPath } from '../../lib/fs.ts';
import { HALO_IDENTITY } from '../process/environment.ts';
import { git } from '../process/git.ts';

interface BareRepoOptions {
  /** The text of the `config` file. */
  config: string;
  /** Path of another objects folder, absolute or relative to the objects folder of this repository. */
  alternate?: string;
  /** Commits whose parents are absent, as in the `shallow` file. */
  shallow?: string | undefined;
  /** Syncs its content to disk; its own name in the parent folder is not synced. */
  durable?: boolean;
}

/** Creates an empty bare repository without starting git: a few small files, no template, no hooks. */
export async function initBareRepo(dir: string, options: BareRepoOptions): Promise<void> {
  const folders = [dir, ...['objects', 'objects/info', 'objects/pack', 'refs', 'refs/heads'].map((f) => join(dir, f))];
  for (const folder of folders) await createFolders(folder);
  await Promise.all([
    ...folders.map((folder) => chmod(folder, 0o755)),
    write(join(dir, 'HEAD'), 'ref: refs/heads/none\n'),
    write(join(dir, 'config'), options.config),
    options.alternate === undefined ? undefined : write(join(dir, 'objects/info/alternates'), `${options.alternate}\n`),
    options.shallow === undefined ? undefined : write(join(dir, 'shallow'), options.shallow),
  ]);
  if (options.durable !== true) return;
  const more = options.alternate === undefined ? [] : [join(dir, 'objects/info/alternates')];
  for (const path of [join(dir, 'HEAD'), join(dir, 'config'), ...more, ...folders]) await syncPath(path);
}

/** `hexLength` is the length of the object ids: 40 (sha1) or 64 (sha256). */
export function bareConfig(hexLength: number): string {
  const core = (version: number) =>
    // Sandboxes read these files as another user, so the mode must not depend on the umask.
    `[core]\n\trepositoryformatversion = ${version}\n\tbare = true\n\tsharedRepository = 0644\n`;
  return hexLength === 64 ? `${core(1)}[extensions]\n\tobjectformat = sha256\n` : core(0);
}

/** Creates a repository with a branch `main` and one commit of these files (plain names to contents). Throws GIT_FAILED. */
export async function initRepo(dir: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  await createFolders(dir, 0o700);
  for (const [name, content] of Object.entries(files)) await writeFile(join(dir, name), content);
  await git(['init', '--quiet', '--template=', '--initial-branch=main', dir]);
  const options = { gitDir: join(dir, '.git'), cwd: dir, env: { GIT_WORK_TREE: dir, ...HALO_IDENTITY } };
  await git(['add', '--force', '--', ...Object.keys(files)], options);
  await git(['commit', '--quiet', '--no-verify', '-m', 'what there is'], options);
}

async function write(path: string, text: string): Promise<void> {
  await writeFile(path, text);
  await chmod(path, 0o644);
}
