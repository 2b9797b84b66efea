import { z } from 'zod';
import type { PullChecks, PullReview } from '../core/pulls/pull-review.ts';
import type { ForgeAccess, ForgeClient, ForgeResponse, Route } from './forge-client.ts';

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
interface CommitStatus {
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

/** One kind of forge. `project`: its name on the forge; `access` has its `params`. */
export interface ForgeAdapter {
  /** Base URL of its API, if it has one server for all. */
  url?: string;
  headers(this: void, token: string): Record<string, string>;
  /** What the routes call a project. */
  params(this: void, project: string): Record<string, string>;
  openIssues(this: void, access: ForgeAccess): Forge;
  openPulls(this: void, access: ForgeAccess, project: string): PullRequests;
  openReviews(this: void, access: ForgeAccess): PullReviews;
  /** A read that every sufficient token may make, whatever its projects are. */
  probe: Route;
  /** The permission that a token lacks, according to the response to the probe. */
  findMissing(this: void, response: ForgeResponse, withReports: boolean): string | undefined;
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

const CommentShape = z.looseObject({ body: z.string().nullish(), created_at: z.string().optional() });

/**
 * Whether a comment in these pages contains a text. `since` (ISO 8601): the pages begin with the newest comment, and
 * no page after an older one is read. Undefined: there are more pages than halo reads.
 */
export async function findComment(
  pages: AsyncIterable<unknown[] | undefined>,
  text: string,
  since?: string,
): Promise<boolean | undefined> {
  for await (const page of pages) {
    if (page === undefined) return undefined;
    const comments = page.map((each) => CommentShape.parse(each));
    if (comments.some(({ body }) => body?.includes(text))) return true;
    const oldest = Date.parse(comments.at(-1)?.created_at ?? '');
    if (since !== undefined && oldest < Date.parse(since)) return false;
  }
  return false;
}

const EventShape = z.looseObject({
  event: z.string().nullish(),
  state: z.string().nullish(),
  type: z.string().nullish(),
  created_at: z.string(),
});

/** Whether these pages of an issue's events say that it was reopened after `since`. */
export async function isReopenedSince(pages: AsyncIterable<unknown[] | undefined>, since: string): Promise<boolean> {
  for await (const page of pages) {
    const events = (page ?? []).flatMap((each) => EventShape.safeParse(each).data ?? []);
    const isLater = (at: string) => Date.parse(at) > Date.parse(since);
    if (events.some((each) => isReopening(each) && isLater(each.created_at))) return true;
  }
  return false;
}

/** GitHub has `event: reopened`, GitLab `state: reopened`, Gitea `type: reopen`. */
function isReopening({ event, state, type }: z.output<typeof EventShape>): boolean {
  return event === 'reopened' || state === 'reopened' || type === 'reopen';
}

const ProjectShape = z.looseObject({ default_branch: z.string() });

export async function readDefaultBranch(client: ForgeClient<'project'>): Promise<string> {
  return client.parse(ProjectShape, await client.require('project')).default_branch;
}
