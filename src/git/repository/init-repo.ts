import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath } from '../../lib/atomic-write.ts';

export interface BareRepoOptions {
  /** The text of the `config` file. */
  config: string;
  /** Path of another objects folder, absolute or from this repository's own. */
  alternate?: string;
  /** Commits whose parents are absent, as in the `shallow` file. */
  shallow?: string | undefined;
  /** It outlasts a power cut, but for its own name. */
  durable?: boolean;
}

/** Writes an empty bare repository without starting git: a handful of small files, no template, no hooks. */
export async function makeBareRepo(dir: string, options: BareRepoOptions): Promise<void> {
  const folders = [dir, ...['objects', 'objects/info', 'objects/pack', 'refs', 'refs/heads'].map((f) => join(dir, f))];
  for (const folder of folders) await mkdir(folder, { recursive: true });
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
    // Sandboxes read these files as another user, whatever the umask of halo is.
    `[core]\n\trepositoryformatversion = ${version}\n\tbare = true\n\tsharedRepository = 0644\n`;
  return hexLength === 64 ? `${core(1)}[extensions]\n\tobjectformat = sha256\n` : core(0);
}

async function write(path: string, text: string): Promise<void> {
  await writeFile(path, text);
  await chmod(path, 0o644);
}
