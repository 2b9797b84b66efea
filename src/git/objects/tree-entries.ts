export interface TreeEntry {
  /** As in the tree object, e.g. `100644`, or `40000` for a folder. */
  mode: string;
  name: string;
}

/** Parses a raw tree object: a sequence of `<mode> <name>\0<id>`. Empty when it is missing or not a tree. */
export function readTree(tree: Buffer | undefined, idBytes: number): TreeEntry[] {
  const entries: TreeEntry[] = [];
  if (tree === undefined) return entries;
  for (let at = 0; at < tree.length;) {
    const blank = tree.indexOf(0x20, at);
    const end = tree.indexOf(0, blank);
    if (blank === -1 || end === -1) break; // not a tree: the path is a file in the base
    entries.push({ mode: tree.toString('latin1', at, blank), name: tree.toString('utf8', blank + 1, end) });
    at = end + 1 + idBytes;
  }
  return entries;
}
