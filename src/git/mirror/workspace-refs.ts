import { copyFile, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createFolders, readFolder, readIfExists, syncPath } from '../../lib/fs.ts';
import { processMark } from '../../lib/process-identity.ts';
import { git, tryGit } from '../process/git.ts';
import { isObjectId } from '../process/git-output.ts';
import { linkPacks } from './base-view.ts';

/** The tags and the branch that a workspace shows in addition to the commits of its base. */
export interface WorkspaceRefs {
  /** The git directory that has them. */
  from: string;
  /** Only what this commit, the base of the run, contains. */
  commit: string;
  /** Short name of the branch that the base was on, shown as `origin/<branch>`; default: the one of HEAD. */
  branch?: string | undefined;
  /** Of the run, whose workspaces all show the same; absent: they are read again. */
  run?: string | undefined;
}

/** The name of the file in a view, in the format of `packed-refs`. */
export const REFS_FILE = 'workspace-refs';

/** What git reads in `packed-refs`. */
const LINES = /^(?:#.*\n)(?:(?:[0-9a-f]{40,64} refs\/.+|\^[0-9a-f]{40,64})\n)*$/;

/** Older ones are not shown. */
const MAX_TAGS = 1_000;
/** The tags of a very long history may take longer: then there are none. */
const READ_MS = 20_000;
/** Of ended runs. */
const MAX_KEPT = 32;
const FORMAT = '%(HEAD)%(objecttype) %(objectname) %(*objectname) %(refname)';

/** Adds to a view the refs of a workspace, and the objects of annotated tags, which no commit reaches. */
export async function addRefsToView(view: string, mirrorDir: string, refs: WorkspaceRefs): Promise<void> {
  const kept = join(dirname(mirrorDir), 'refs');
  await createFolders(kept);
  const own = refs.run === undefined ? undefined : join(kept, refs.run);
  if (own !== undefined && (await isIntact(own))) return copyInto(view, own);
  const aside = await mkdtemp(join(kept, `new-${processMark()}-`));
  try {
    await readInto(aside, refs);
    await copyInto(view, aside);
    // Another process may have read them first.
    if (own !== undefined) await keep(aside, own).catch(() => undefined);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  if (own !== undefined) await removeOldest(kept);
}

/** The refs of a view, as git reads them in `packed-refs`, and the ids of its annotated tags; empty if it has none. */
export async function readViewRefs(view: string): Promise<{ text: string; tags: string[] }> {
  const text = (await readIfExists(join(view, REFS_FILE))) ?? '';
  return { text, tags: [...text.matchAll(/^([0-9a-f]{40,64}) refs\/tags\/.*\n\^/gm)].map(([, id = '']) => id) };
}

/** A damaged file would make git fail in every workspace of the run. */
async function isIntact(dir: string): Promise<boolean> {
  const text = await readIfExists(join(dir, REFS_FILE));
  if (text === undefined || LINES.test(text)) return text !== undefined;
  await rm(dir, { recursive: true, force: true });
  return false;
}

/** Gives a folder its name when its content is on the disk. */
async function keep(dir: string, own: string): Promise<void> {
  for (const name of await readFolder(dir)) await syncPath(join(dir, name));
  await syncPath(dir);
  await rename(dir, own);
}

async function copyInto(view: string, from: string): Promise<void> {
  await linkPacks(from, join(view, 'objects', 'pack'));
  await copyFile(join(from, REFS_FILE), join(view, REFS_FILE));
}

async function readInto(dir: string, { from, commit, branch }: WorkspaceRefs): Promise<void> {
  const args = ['for-each-ref', `--merged=${commit}`, `--format=${FORMAT}`, '--sort=-creatordate'];
  const where = branch === undefined ? ['refs/tags', 'refs/heads'] : ['refs/tags'];
  const listed = await tryGit([...args, ...where], { gitDir: from, timeoutMs: READ_MS });
  const refs = listed.exitCode === 0 ? listed.stdout.toString('utf8').split('\n').flatMap(parseRef) : [];
  const tags = refs.filter(({ name }) => name.startsWith('refs/tags/')).slice(0, MAX_TAGS);
  const head = branch === undefined ? refs.find(({ isHead }) => isHead)?.name : `refs/heads/${branch}`;
  const lines = tags.flatMap(({ id, peeled, name }) => [`${id} ${name}`, ...(peeled === '' ? [] : [`^${peeled}`])]);
  const origin = head === undefined ? [] : [`${commit} refs/remotes/origin/${head.slice('refs/heads/'.length)}`];
  const annotated = tags.filter(({ type }) => type === 'tag').map(({ id }) => id);
  if (annotated.length > 0)
    await git(['pack-objects', '--quiet', join(dir, 'pack')], { gitDir: from, input: `${annotated.join('\n')}\n` });
  await writeFile(
    join(dir, REFS_FILE),
    `${['# pack-refs with: peeled fully-peeled ', ...lines, ...origin].join('\n')}\n`,
  );
}

interface Ref {
  isHead: boolean;
  type: string;
  id: string;
  /** What an annotated tag points to; empty for other refs. */
  peeled: string;
  name: string;
}

function parseRef(line: string): Ref[] {
  const [type = '', id = '', peeled = '', name = ''] = line.slice(1).split(' ');
  return isObjectId(id) && name !== '' ? [{ isHead: line.startsWith('*'), type, id, peeled, name }] : [];
}

async function removeOldest(kept: string): Promise<void> {
  const names = await readFolder(kept);
  if (names.length <= MAX_KEPT) return;
  const ages = await Promise.all(
    names.map(async (name) => ({ name, madeMs: (await stat(join(kept, name)).catch(() => undefined))?.mtimeMs ?? 0 })),
  );
  const oldest = ages.sort((a, b) => a.madeMs - b.madeMs).slice(0, names.length - MAX_KEPT);
  for (const { name } of oldest) await rm(join(kept, name), { recursive: true, force: true });
}
