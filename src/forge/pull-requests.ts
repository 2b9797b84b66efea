import type { PullChecks, PullReview } from '../core/pulls/pull-feedback.ts';

/** A pull request, or a merge request of GitLab. */
export interface Pull {
  number: number;
  /** Its page. */
  url: string;
  state: 'open' | 'closed' | 'merged';
  isDraft: boolean;
  labels: string[];
  /** The branch into which it is to be merged. */
  base: string;
  /** The newest commit of its branch, if the forge says so. */
  head?: string;
}

/** What a pull request shows. Texts are Markdown. */
export interface PullContent {
  title: string;
  body: string;
  isDraft: boolean;
}

/** The state of a story at a commit. */
export interface CommitStatus {
  /** Names it; a later status with this name replaces it. */
  context: string;
  state: 'pending' | 'success' | 'failure';
  description: string;
}

/** The pull requests of one project on a forge. All methods throw FORGE_FAILED. */
export interface PullRequests {
  /** The newest one from a branch of the project itself, open or not; `known`, if that is open and of the branch. */
  findPull(branch: string, known?: number): Promise<Pull | undefined>;
  createPull(pull: PullContent & { branch: string; base: string }): Promise<Pull>;
  /** `base`: another branch into which it is to be merged. */
  updatePull(number: number, content: PullContent & { base?: string }): Promise<void>;
  setStatus(commit: string, status: CommitStatus): Promise<void>;
}

/** What people and checks say about the pull requests of one project. All methods throw FORGE_FAILED. */
export interface PullReviews {
  /** Undefined: there is none. */
  readPull(number: number): Promise<Pull | undefined>;
  /** The reviews that ask for changes, oldest first. */
  listReviews(number: number): Promise<PullReview[]>;
  /** Without the statuses that halo has set. */
  readChecks(commit: string): Promise<PullChecks>;
}

/** Whether halo has set a status. */
export function isOwnStatus(context: string): boolean {
  return context.startsWith('halo/');
}

/** The reviews whose author has not approved later. `reviews`: oldest first. */
export function notApprovedLater<T>(
  reviews: readonly T[],
  { isApproval, authorOf }: { isApproval: (review: T) => boolean; authorOf: (review: T) => string | undefined },
): T[] {
  return reviews.filter(
    (review, index) =>
      !reviews.slice(index + 1).some((later) => isApproval(later) && authorOf(later) === authorOf(review)),
  );
}
