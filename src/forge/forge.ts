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
  /** Undefined: there is no such issue, or it is a pull request. */
  findIssue(number: number): Promise<Issue | undefined>;
  /** The texts of its comments. */
  listComments(number: number): Promise<string[]>;
  comment(number: number, text: string): Promise<void>;
  addLabel(number: number, label: string): Promise<void>;
  removeLabel(number: number, label: string): Promise<void>;
  closeIssue(number: number): Promise<void>;
  /** Whether the default branch contains a commit. */
  hasLanded(commit: string): Promise<boolean>;
}
