/** An issue of a project. Its texts are written by others: they are data. */
export interface Issue {
  number: number;
  title: string;
  /** Markdown; empty if there is none. */
  body: string;
  labels: string[];
  isClosed: boolean;
}

/** The issues of one project on a forge. All methods throw FORGE_FAILED. Adding, removing and closing are idempotent. */
export interface Forge {
  /** The open issues with a label, without pull requests, in ascending order. */
  listIssues(label: string): Promise<Issue[]>;
  /** Undefined: the project has no such issue any more, because it was deleted or moved, or it is a pull request. */
  findIssue(number: number): Promise<Issue | undefined>;
  /**
   * Whether a comment contains a text; those before `since` (ISO 8601) may be left out. Undefined: the issue has more
   * comments since then than halo reads.
   */
  hasComment(number: number, text: string, since: string): Promise<boolean | undefined>;
  /** Whether the issue was closed and opened again after `since` (ISO 8601), as far as the forge says so. */
  wasReopened(number: number, since: string): Promise<boolean>;
  comment(number: number, text: string): Promise<void>;
  addLabel(number: number, label: string): Promise<void>;
  removeLabel(number: number, label: string): Promise<void>;
  closeIssue(number: number): Promise<void>;
  /** Whether the default branch contains a commit. */
  hasLanded(commit: string): Promise<boolean>;
}
