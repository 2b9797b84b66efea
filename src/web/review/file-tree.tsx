import type { JSX } from 'preact';
import { hasWords } from '../../core/text/search.ts';
import { useState } from 'preact/hooks';
import { safeText } from '../../core/text/safe-text.ts';
import { memo } from '../page/memo.ts';
import { Counts } from './diff-file.tsx';
import type { PatchFile } from '../../core/review/read-patch.ts';

interface FileTreeProps {
  files: readonly PatchFile[];
  viewed: readonly string[];
  protectedPaths: readonly string[];
  /** Numbers of comments by path, as JSON: the tree is drawn again when they change. */
  comments: string;
  /** The file at the top of the window. */
  current: string | undefined;
  onOpen: (path: string) => void;
}

interface Folder {
  name: string;
  folders: Map<string, Folder>;
  files: PatchFile[];
}

/** The changed files as a tree; folders with nothing but a folder share its line. */
export const FileTree = memo((props: FileTreeProps): JSX.Element => {
  const { files, viewed } = props;
  const [filter, setFilter] = useState('');
  const shown = files.filter(({ path }) => hasWords(path, filter));
  return (
    <nav class="file-tree" aria-label="Changed files">
      <input
        type="search"
        aria-label="Filter files"
        placeholder="Filter files"
        value={filter}
        onInput={({ currentTarget }) => setFilter(currentTarget.value)}
      />
      <p class="soft">
        {shown.length === files.length ? fileCount(files.length) : `${shown.length} of ${fileCount(files.length)}`},{' '}
        {viewed.length} viewed
      </p>
      <Branch folder={toTree(shown)} tree={props} />
    </nav>
  );
});

function Branch({ folder, tree }: { folder: Folder; tree: FileTreeProps }): JSX.Element {
  const { viewed, protectedPaths, current, onOpen } = tree;
  const comments = JSON.parse(tree.comments) as Record<string, number>;
  return (
    <ul>
      {[...folder.folders.values()].map((inner) => (
        <li key={`${inner.name}/`}>
          <details open>
            <summary>{safeText(inner.name)}</summary>
            <Branch folder={inner} tree={tree} />
          </details>
        </li>
      ))}
      {folder.files.map((file) => (
        <li key={file.path}>
          <button
            type="button"
            class={viewed.includes(file.path) ? 'is-viewed' : ''}
            aria-current={file.path === current ? 'true' : undefined}
            title={safeText(file.path)}
            onClick={() => onOpen(file.path)}
          >
            <span class={`name ${file.status}`}>{safeText(file.path.slice(file.path.lastIndexOf('/') + 1))}</span>
            {protectedPaths.includes(file.path) && (
              <span class="warn" title="protected">
                !
              </span>
            )}
            {comments[file.path] !== undefined && (
              <span class="count" title="your comments">
                {comments[file.path]}
              </span>
            )}
            <Counts file={file} />
          </button>
        </li>
      ))}
    </ul>
  );
}

function toTree(files: readonly PatchFile[]): Folder {
  const top: Folder = { name: '', folders: new Map(), files: [] };
  for (const file of files) {
    let folder = top;
    for (const name of file.path.split('/').slice(0, -1)) {
      const inner = folder.folders.get(name) ?? { name, folders: new Map<string, Folder>(), files: [] };
      folder.folders.set(name, inner);
      folder = inner;
    }
    folder.files.push(file);
  }
  return joinFolders(top);
}

/** Joins each folder that has nothing but another one with it. The top has no name to join. */
function joinFolders({ name, folders, files }: Folder): Folder {
  const joined = [...folders.values()].map(joinFolders);
  const [only] = joined;
  if (name !== '' && only !== undefined && joined.length === 1 && files.length === 0)
    return { ...only, name: `${name}/${only.name}` };
  return { name, folders: new Map(joined.map((folder) => [folder.name, folder])), files };
}

/** E.g. `1 file`. */
export function fileCount(count: number): string {
  return count === 1 ? '1 file' : `${count} files`;
}

/** The files in the order of the tree: the diff has the same. */
export function toTreeOrder(files: readonly PatchFile[]): PatchFile[] {
  const list = (folder: Folder): PatchFile[] => [...[...folder.folders.values()].flatMap(list), ...folder.files];
  return list(toTree(files));
}
