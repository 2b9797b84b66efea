import type { IssueSource } from '../issues/issue-source.ts';
import type { Prd } from '../prd/prd.ts';

/** The repository of a run, as it was when the run was submitted. */
export interface RunRepo {
  /** Absolute path of the repository, or its URL. */
  source: string;
  /** Name of the mirror under HALO_HOME/repos. */
  mirror: string;
  /** Short name of the branch that was checked out; undefined when HEAD was detached. */
  branch: string | undefined;
  /** The base commit of the first story, 40 or 64 hex digits; empty for a refused run without one. */
  base: string;
  /** Paths of this run that stories may change only with approval, in addition to those of all runs. */
  guarded?: readonly ProtectedPath[];
  /**
   * The repositories to which its files belong, as paths, if the user may use only some: one with files in others is not
   * used later. Absent for a URL.
   */
  places?: readonly string[];
}

/** A file or folder, from the top of the tree. */
export interface ProtectedPath {
  path: string;
  /** The setting of git or halo that names it, e.g. `core.hookspath`; absent for the PRD of the run. */
  setting?: string;
}

/** How the stories of a run are scheduled. */
interface Scheduling {
  /** Maximum number of concurrent stories. */
  parallel: number;
  /** Whether a story that failed for good ends the run, or only blocks the stories that depend on it. */
  onFailure: 'stop' | 'continue';
}

/** What a submit decides about a run for good. */
export interface Submission extends Scheduling {
  runId: string;
  repo: RunRepo;
  prdPath: string;
  /** Who submitted it: the operating system user, or the name given with the API request. */
  user: string;
  /** The agent; absent if the run was refused before it was known. */
  agent?: string;
  /** Lower values run first. */
  priority: number;
  /** Labels that its engine must have; absent: none. */
  engineLabels?: readonly string[];
  batch?: BatchRef;
  /** The issues that are its stories. */
  issues?: IssueSource;
  /** Whether `prdPath` is a file on the machine that created the run. */
  prdIsHere: boolean;
  /** The whole run must be approved before it can be landed. */
  needsApproval?: true;
  /** Its repository is temporary and deleted when the run ends: nothing can be landed. */
  scratch?: true;
  /** It runs a task of `halo task`, which records the result in the tasks file. */
  task?: true;
  /** The run was refused and only records why; its end follows immediately. */
  refused?: true;
  /** The ids of the only stories to run; absent: all. */
  selected?: string[];
  /** Agents only read the repository and describe changes, so nothing lands: a dry run. */
  dry?: true;
  /** With `dry`: the agent plans stories instead of describing one (`halo plan`). */
  planning?: true;
}

/** The place of a run among the runs of one submit. */
interface BatchRef {
  id: string;
  /** The name of this run in the batch. */
  name: string;
  /** Its position in the batch, from 0. */
  place: number;
}

/** The first event of a run: what was submitted. */
export interface RunCreated extends Submission {
  type: 'run.created';
  prd: Prd;
  attempts: number;
  /** Ids of runs that must end with SUCCESS before this one starts. */
  after?: string[];
  /** The `halo run` process that exclusively owns it while alive, as store/process-registry.ts names it. */
  owner?: string;
}
