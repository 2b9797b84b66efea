/** What became of setup before the agent (`setup`) or before the gates. */
export type SnapshotEvent =
  /** Setup runs in a workspace of its own, to make a snapshot or, if `again`, to compare with one. */
  | { type: 'snapshot.started'; phase: 'setup' | 'gates'; again?: true }
  /** Workspaces begin with a snapshot, which setup `made` in this attempt or before. `key`, `digest`: SHA-256. */
  | {
      type: 'snapshot.used';
      phase: 'setup' | 'gates';
      key: string;
      digest: string;
      mode: 'overlay' | 'copy';
      made?: true;
      /** Why a change of any file needs another one; a clause. Only if it was `made`. */
      wholeTree?: string;
    }
  /** The result of setup cannot be a snapshot, or differs from it; `reason` is a clause. Setup runs for each workspace. */
  | { type: 'snapshot.refused'; phase: 'setup' | 'gates'; reason: string };
