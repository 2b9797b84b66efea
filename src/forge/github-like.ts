import { z } from 'zod';
import type { PullReview } from '../core/pulls/pull-review.ts';
import { memoizeAsync } from '../lib/async.ts';
import { defined } from '../lib/guards.ts';
import type { ForgeClient } from './forge-client.ts';
import { isOwnStatus, notApprovedLater, type Forge, type Issue, type Pull, type PullReviews } from './forge.ts';

/** What the API of GitHub and that of Gitea, which is made after it, have in common. */

export const COMMON_ROUTES = {
  issues: {
    project: 'GET /repos/{owner}/{repo}',
    issues: 'GET /repos/{owner}/{repo}/issues',
    issue: 'GET /repos/{owner}/{repo}/issues/{number}',
    edit: 'PATCH /repos/{owner}/{repo}/issues/{number}',
    comments: 'GET /repos/{owner}/{repo}/issues/{number}/comments',
    comment: 'POST /repos/{owner}/{repo}/issues/{number}/comments',
    label: 'POST /repos/{owner}/{repo}/issues/{number}/labels',
    unlabel: 'DELETE /repos/{owner}/{repo}/issues/{number}/labels/{label}',
    compare: 'GET /repos/{owner}/{repo}/compare/{range}',
  },
  pulls: {
    pulls: 'GET /repos/{owner}/{repo}/pulls',
    create: 'POST /repos/{owner}/{repo}/pulls',
    edit: 'PATCH /repos/{owner}/{repo}/pulls/{number}',
    status: 'POST /repos/{owner}/{repo}/statuses/{commit}',
  },
  reviews: {
    pull: 'GET /repos/{owner}/{repo}/pulls/{number}',
    reviews: 'GET /repos/{owner}/{repo}/pulls/{number}/reviews',
    permission: 'GET /repos/{owner}/{repo}/collaborators/{user}/permission',
    statuses: 'GET /repos/{owner}/{repo}/commits/{commit}/status',
  },
} as const;

type Routes = typeof COMMON_ROUTES;
type Client<K extends keyof Routes> = ForgeClient<keyof Routes[K] & string>;

/** The params of `owner/repo`. */
export function repositoryParams(project: string): Record<string, string> {
  const [owner = '', repo = ''] = project.split('/');
  return { owner, repo };
}

/** The methods for issues that both have. */
export function commonIssues(client: Client<'issues'>): Pick<Forge, 'findIssue' | 'comment' | 'closeIssue'> {
  return {
    async findIssue(number) {
      const { value, isMissing } = await client.call('issue', { params: { number }, mayMove: true });
      if (!isMissing) return client.parse(IssueShape, value);
      // A project that was renamed, or that the token may not read any more, says nothing about its issues.
      await client.require('project');
      return undefined;
    },
    async comment(number, text) {
      await client.require('comment', { params: { number }, body: { body: text } });
    },
    async closeIssue(number) {
      await client.require('edit', { params: { number }, body: { state: 'closed' } });
    },
  };
}

/** The open issues that a query finds, without pull requests. */
export async function listCommonIssues(
  client: Client<'issues'>,
  query: Record<string, string | number>,
): Promise<Issue[]> {
  const found = await client.list('issues', { query: { state: 'open', ...query } });
  return found.flatMap((each) => client.parse(IssueShape, each) ?? []);
}

/** Undefined: it is a pull request. */
const IssueShape = z
  .looseObject({
    number: z.int().positive(),
    title: z.string(),
    body: z.string().nullish(),
    state: z.string(),
    labels: z.array(z.union([z.string(), z.looseObject({ name: z.string() })])).nullish(),
    pull_request: z.unknown().optional(),
  })
  .transform(({ number, title, body, state, labels, pull_request: pull }): Issue | undefined => {
    if (pull !== undefined && pull !== null) return undefined;
    const names = (labels ?? []).map((label) => (typeof label === 'string' ? label : label.name));
    return { number, title, body: body ?? '', labels: names, isClosed: state !== 'open' };
  });

export const PullShape = z
  .looseObject({
    number: z.int().positive(),
    html_url: z.string(),
    state: z.string(),
    draft: z.boolean().nullish(),
    merged_at: z.string().nullish(),
    merged: z.boolean().nullish(),
    labels: z.array(z.looseObject({ name: z.string() })).nullish(),
    base: z.looseObject({ ref: z.string() }),
    head: z.looseObject({ sha: z.string().nullish() }).nullish(),
  })
  .transform(({ number, html_url: url, draft, base, head, ...data }): Pull => {
    const isMerged = data.merged === true || typeof data.merged_at === 'string';
    const state = isMerged ? 'merged' : data.state === 'open' ? 'open' : 'closed';
    const labels = (data.labels ?? []).map(({ name }) => name);
    const known = { number, url, state, isDraft: draft === true, labels, base: base.ref } as const;
    return { ...known, ...defined({ head: head?.sha ?? undefined }) };
  });

/** How the reviews of a forge are read. */
interface ReviewForm {
  /** The size of pages. */
  page: Record<string, number>;
  /** The state of a review that asks for changes. */
  asking: string;
  /** For a pull request: reads the comments of a review, by its author, and the commit of their lines if it is another. */
  openComments: (number: number) => (review: Review) => Promise<Pick<PullReview, 'comments' | 'commit'>>;
}

/** The methods for reviews; the checks are those that are set as statuses of a commit. */
export function commonReviews(client: Client<'reviews'>, { page, asking, openComments }: ReviewForm): PullReviews {
  const askMayPush = async (user: string) => {
    const { value } = await client.call('permission', { params: { user } });
    return ['owner', 'admin', 'write'].includes(PermissionShape.safeParse(value).data?.permission ?? '');
  };
  return {
    async readPull(number) {
      const { value, isMissing } = await client.call('pull', { params: { number } });
      return isMissing ? undefined : client.parse(PullShape, value);
    },
    async listReviews(number) {
      const mayPush = memoizeAsync(askMayPush);
      const all = await client.list('reviews', { params: { number }, query: page });
      const counting = notApprovedLater(
        all.map((each) => client.parse(ReviewShape, each)),
        { isApproval: ({ state }) => state === 'APPROVED', authorOf: ({ user }) => user?.login },
      );
      const readComments = openComments(number);
      const reviews: PullReview[] = [];
      for (const review of counting.filter(({ state, dismissed }) => state === asking && dismissed !== true)) {
        const author = review.user?.login ?? '';
        const isAllowed = author !== '' && (await mayPush(author));
        const { comments, commit = review.commit_id ?? undefined } = isAllowed
          ? await readComments(review)
          : { comments: [] };
        const { html_url: url, body } = review;
        reviews.push({ url, author, mayPush: isAllowed, text: body ?? '', comments, ...defined({ commit }) });
      }
      return reviews;
    },
    async readChecks(commit) {
      const listed = await client.listFirst('statuses', { params: { commit }, query: page, listKey: 'statuses' });
      const all = listed.map((each) => client.parse(StatusShape, each));
      const others = all.filter(({ failed }) => !isOwnStatus(failed.name));
      return {
        isRunning: others.some(({ state }) => state === 'pending'),
        failed: others.filter(({ state }) => ['failure', 'error'].includes(state)).map(({ failed }) => failed),
      };
    },
  };
}

const PermissionShape = z.looseObject({ permission: z.string() });
export const UserShape = z.looseObject({ login: z.string() }).nullish();
const ReviewShape = z.looseObject({
  id: z.number(),
  html_url: z.string(),
  state: z.string(),
  dismissed: z.boolean().nullish(),
  body: z.string().nullish(),
  user: UserShape,
  commit_id: z.string().nullish(),
});
type Review = z.output<typeof ReviewShape>;

/** The state of a status is `status` at Gitea. */
const StatusShape = z
  .looseObject({
    context: z.string(),
    state: z.string().optional(),
    status: z.string().optional(),
    description: z.string().nullish(),
    target_url: z.string().nullish(),
  })
  .refine(({ state, status }) => (state ?? status) !== undefined)
  .transform(({ context: name, state, status = state, description: text, target_url: url }) => ({
    state: status ?? '',
    failed: { name, url: url ?? '', text: text ?? '' },
  }));
