import { z } from 'zod';
import type { PullReview, ReviewComment } from '../../core/pulls/pull-feedback.ts';
import { memoizeAsync } from '../../lib/async.ts';
import { defined } from '../../lib/guards.ts';
import { ForgeClient, readShape } from '../forge-client.ts';
import { toPull } from '../github/github-pulls.ts';
import type { TokenAccess } from '../github/github.ts';
import { isOwnStatus, notApprovedLater, type PullReviews } from '../pull-requests.ts';
import { giteaHeaders } from './gitea.ts';

const ROUTES = {
  pull: 'GET /repos/{owner}/{repo}/pulls/{number}',
  reviews: 'GET /repos/{owner}/{repo}/pulls/{number}/reviews',
  comments: 'GET /repos/{owner}/{repo}/pulls/{number}/reviews/{review}/comments',
  permission: 'GET /repos/{owner}/{repo}/collaborators/{user}/permission',
  statuses: 'GET /repos/{owner}/{repo}/commits/{commit}/status',
} as const;

const PAGE = { limit: 50 };

/** Opens the reviews and checks of pull requests on Gitea or Forgejo. `project`: `owner/repo`. */
export function openGiteaReviews(project: string, { token, ...access }: TokenAccess): PullReviews {
  const { baseUrl } = access;
  const [owner = '', repo = ''] = project.split('/');
  const parse = <T>(shape: z.ZodType<T>, value: unknown) => readShape(shape, value, baseUrl);
  const client = new ForgeClient(ROUTES, { ...access, headers: giteaHeaders(token) });
  const at = { owner, repo };
  const askMayPush = async (user: string) => {
    const { value } = await client.call('permission', { params: { ...at, user } });
    return ['owner', 'admin', 'write'].includes(PermissionShape.safeParse(value).data?.permission ?? '');
  };
  return {
    async readPull(number) {
      const { value, isMissing } = await client.call('pull', { params: { ...at, number } });
      return isMissing ? undefined : toPull(value, baseUrl);
    },
    async listReviews(number) {
      const mayPush = memoizeAsync(askMayPush);
      const all = await client.list('reviews', { params: { ...at, number }, query: PAGE });
      const counting = notApprovedLater(
        all.map((each) => parse(ReviewShape, each)),
        { isApproval: ({ state }) => state === 'APPROVED', authorOf: ({ user }) => user?.login },
      );
      const asking = counting.filter(({ state, dismissed }) => state === 'REQUEST_CHANGES' && dismissed !== true);
      const reviews: PullReview[] = [];
      for (const { id, html_url: url, user, body, commit_id: commit } of asking) {
        const author = user?.login ?? '';
        const isAllowed = author !== '' && (await mayPush(author));
        const listed = isAllowed ? await client.list('comments', { params: { ...at, number, review: id } }) : [];
        // Replies of other people belong to the same review.
        const comments = listed.map((each) => parse(CommentShape, each)).filter((each) => each.user?.login === author);
        reviews.push({
          ...{ url, author, mayPush: isAllowed, text: body ?? '', comments: comments.map(toComment) },
          ...defined({ commit: commit ?? undefined }),
        });
      }
      return reviews;
    },
    async readChecks(commit) {
      const call = { params: { ...at, commit }, query: PAGE, listKey: 'statuses' };
      const listed = (await client.listFirst('statuses', call)).map((each) => parse(StatusShape, each));
      const others = listed.filter(({ context }) => !isOwnStatus(context));
      return {
        isRunning: others.some(({ status }) => status === 'pending'),
        failed: others
          .filter(({ status }) => ['failure', 'error'].includes(status))
          .map(({ context, target_url: url, description }) => ({
            name: context,
            url: url ?? '',
            text: description ?? '',
          })),
      };
    },
  };
}

const PermissionShape = z.looseObject({ permission: z.string() });
const ReviewShape = z.looseObject({
  id: z.number(),
  html_url: z.string(),
  state: z.string(),
  dismissed: z.boolean().nullish(),
  body: z.string().nullish(),
  user: z.looseObject({ login: z.string() }).nullish(),
  commit_id: z.string().nullish(),
});
/** `position` is a line of the new file and `original_position` one of the old file; the other one is 0. */
const CommentShape = z.looseObject({
  user: z.looseObject({ login: z.string() }).nullish(),
  path: z.string(),
  body: z.string(),
  position: z.int().nonnegative().nullish(),
  original_position: z.int().nonnegative().nullish(),
});
const StatusShape = z.looseObject({
  context: z.string(),
  status: z.string(),
  description: z.string().nullish(),
  target_url: z.string().nullish(),
});

function toComment({ path, body, position, original_position: old }: z.output<typeof CommentShape>): ReviewComment {
  const isOld = !position && Boolean(old);
  const line = (isOld ? old : position) || undefined;
  return { path, side: isOld ? 'old' : 'new', ...defined({ line: line ?? undefined }), text: body };
}
