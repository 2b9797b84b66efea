import { readObjects } from '../objects/read-objects.ts';
import { foldName } from '../path-policy.ts';
import { readTree } from '../objects/tree-entries.ts';
import { ABSENT, type RawChange } from '../objects/tree-diff.ts';
import { violation } from '../violation.ts';

export interface EmbeddedCheck {
  gitDir: string;
  base: string;
  tree: string;
  changes: readonly RawChange[];
  signal?: AbortSignal | undefined;
}

const FOLDER = '40000';
/** By these names git takes a folder for a repository. */
const PARTS = new Set(['head', 'objects', 'refs', 'commondir', 'config']);
/** What git does in a repository is decided here. */
const ORDERS = new Set(['config', 'config.worktree', 'commondir', 'hooks', 'info']);

/**
 * Refuses a bare repository, or the beginnings of one, among the files of a tree, and orders to one that the base has
 * already: git takes its settings from there for whoever enters the folder, and they name programs to run. Parts count
 * whatever they are (git follows links, and an executable file does for a folder), in any case and Unicode form.
 * Throws POLICY_VIOLATION.
 */
export async function refuseEmbedded({ gitDir, base, tree, changes, signal }: EmbeddedCheck): Promise<void> {
  const present = changes.filter(({ newMode }) => newMode !== ABSENT).flatMap(({ path }) => placesIn(path));
  const folders = [...new Set(present.map(({ folder }) => folder))];
  const names = folders.flatMap((folder) => [`${tree}:${folder}`, `${base}:${folder}`]);
  const contents = await readObjects(gitDir, names, signal);
  const idBytes = tree.length / 2;
  folders.forEach((folder, index) => {
    const [now, before] = [contents[index * 2], contents[index * 2 + 1]].map((raw) => isRepository(raw, idBytes));
    if (now !== true) return;
    const shown = folder === '' ? undefined : folder;
    if (before !== true) throw violation(shown, 'git takes a folder with HEAD, objects and refs for a repository');
    const order = present.find((each) => each.folder === folder && ORDERS.has(foldName(each.name)));
    if (order !== undefined) throw violation(order.path, 'it gives orders to the git repository in that folder');
  });
}

interface Place {
  path: string;
  folder: string;
  /** Of the entry of the folder that the path leads to. */
  name: string;
}

function placesIn(path: string): Place[] {
  const names = path.split('/');
  const places = names.map((name, index) => ({ path, folder: names.slice(0, index).join('/'), name }));
  return places.filter(({ name }) => PARTS.has(foldName(name)) || ORDERS.has(foldName(name)));
}

function isRepository(tree: Buffer | undefined, idBytes: number): boolean {
  const entries = readTree(tree, idBytes).map(({ mode, name }) => ({ mode, name: foldName(name) }));
  const has = (part: string) => entries.some(({ name }) => name === part);
  if (!entries.some(({ mode, name }) => name === 'head' && mode !== FOLDER)) return false;
  const parts = ['objects', 'refs', 'config'].filter(has);
  // Two of three: an empty folder that git does not track may make up for the third.
  return parts.length > 1 || has('commondir');
}
