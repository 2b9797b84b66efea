import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { git } from '../process/git.ts';

/** The difference between two texts as a patch of the file `name`; empty if they are equal. Throws GIT_FAILED. */
export async function diffTexts(before: string, after: string, name: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'halo-diff-'));
  try {
    for (const [side, text] of [
      ['a', before],
      ['b', after],
    ] as const) {
      await mkdir(join(folder, side));
      await writeFile(join(folder, side, name), text);
    }
    const args = ['diff', '--no-index', '--no-color', '--no-ext-diff', '--no-textconv', '--no-prefix'];
    const { stdout } = await git([...args, '--', `a/${name}`, `b/${name}`], { cwd: folder, ok: [0, 1] });
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
