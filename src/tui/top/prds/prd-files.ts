import type { PrdFile, StoryStatus } from '../../../core/prd/prd.ts';

/** A PRD of the repository: a named one, or one in a usual place. */
export interface PrdEntry {
  /** Its name, or its path in the repository. */
  name: string;
  /** Absolute. */
  path: string;
  /** The same without links, as runs may have recorded it. */
  realPath: string;
  isNamed: boolean;
  project: string;
  stories: { id: string; title: string; status: StoryStatus; criteria: number; priority: number | undefined }[];
  /** Why it cannot be read. */
  problem?: string;
}

export interface ListedPrds {
  /** The repository, in which a started PRD runs. */
  repo: string;
  /** The agent of its settings; absent: those of a server decide. */
  agent?: string;
  entries: PrdEntry[];
}

/** The PRD files of the repository in which the user works, on this machine. */
export interface PrdFiles {
  list(): Promise<ListedPrds>;
  read(path: string): Promise<PrdFile>;
  /** Creates a named PRD and returns its path. Throws USAGE. */
  create(name: string): Promise<string>;
  /** Opens a named PRD in the user's editor, which uses the terminal, and saves it if it is valid. */
  edit(name: string): Promise<void>;
}
