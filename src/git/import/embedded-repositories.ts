import { readObjects } from '../objects/read-objects.ts';
import { foldName } from './path-policy.ts';
import { readTree } from '../objects/tree-entries.ts';
import { ABSENT, type RawChange } from '../objects/tree-diff.ts';
import { policyViolation } from './policy-violation.ts';

export interface EmbeddedCheck {
  gitDir: string;
  base: string;
  tree: string;
  changes: readonly RawChange[];
  signal?: AbortSignal | undefined;
}

const FOLDER = '40000';
/** Names by which git recognizes a repository. */
const REPOSITORY_FILES = new Set(['head', 'objects', 'refs', 'commondir', 'config']);
/** Files and folders that control what git does in a repository. */
const CONTROL_FILES = new Set(['config', 'config.worktree', 'commondir', 'hooks', 'info']);

/**
 * Rejects bare repositories, also incomplete ones, among the files of a tree, and changes to the control files of one that
 * the base already contains. Git run in such a folder reads its settings, which name programs to execute. Entries count
 * whatever their type is (git follows links and accepts an executable file as a folder), in any case and Unicode form.
 * Throws POLICY_VIOLATION.
 */
export async function assertNoEmbeddedRepositories({
  gitDir,
  base,
  tree,
  changes,
  signal,
}: EmbeddedCheck): Promise<void> {
  const present = changes.filter(({ newMode }) => newMode !== ABSENT).flatMap(({ path }) => gitFilesIn(path));
  const folders = [...new Set(present.map(({ folder }) => folder))];
  const names = folders.flatMap((folder) => [`${tree}:${folder}`, `${base}:${folder}`]);
  const contents = await readObjects(gitDir, names, { signal });
  if (contents === undefined) throw policyViolation(undefined, 'the changed folders are too large to be checked');
  const idBytes = tree.length / 2;
  folders.forEach((folder, index) => {
    const [now, before] = [contents[index * 2], contents[index * 2 + 1]].map((raw) => isRepository(raw, idBytes));
    if (now !== true) return;
    const shown = folder === '' ? undefined : folder;
    if (before !== true)
      throw policyViolation(shown, 'git treats a folder with HEAD, objects and refs as a repository');
    const order = present.find((each) => each.folder === folder && CONTROL_FILES.has(foldName(each.name)));
    if (order !== undefined)
      throw policyViolation(order.path, 'it changes how git behaves in the repository in that folder');
  });
}

interface GitFilePath {
  path: string;
  folder: string;
  /** Of the entry of the folder that the path leads to. */
  name: string;
}

function gitFilesIn(path: string): GitFilePath[] {
  const names = path.split('/');
  const places = names.map((name, index) => ({ path, folder: names.slice(0, index).join('/'), name }));
  return places.filter(({ name }) => REPOSITORY_FILES.has(foldName(name)) || CONTROL_FILES.has(foldName(name)));
}

function isRepository(tree: Buffer | undefined, idBytes: number): boolean {
  const entries = readTree(tree, idBytes).map(({ mode, name }) => ({ mode, name: foldName(name) }));
  const has = (part: string) => entries.some(({ name }) => name === part);
  if (!entries.some(({ mode, name }) => name === 'head' && mode !== FOLDER)) return false;
  const parts = ['objects', 'refs', 'config'].filter(has);
  // Two of three are enough: the third may be an empty folder, which git does not track.
  return parts.length > 1 || has('commondir');
}
