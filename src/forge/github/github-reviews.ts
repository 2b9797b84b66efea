import { z } from 'zod';
import type { FailedCheck, PullReview, ReviewComment } from '../../core/pulls/pull-feedback.ts';
import { memoizeAsync } from '../../lib/async.ts';
import { defined } from '../../lib/guards.ts';
import { ForgeClient, readShape } from '../forge-client.ts';
import { isOwnStatus, notApprovedLater, type PullReviews } from '../pull-requests.ts';
import { toPull } from './github-pulls.ts';
import { githubHeaders, type TokenAccess } from './github.ts';

const ROUTES = {
  pull: 'GET /repos/{owner}/{repo}/pulls/{number}',
  reviews: 'GET /repos/{owner}/{repo}/pulls/{number}/reviews',
  comments: 'GET /repos/{owner}/{repo}/pulls/{number}/comments',
  permission: 'GET /repos/{owner}/{repo}/collaborators/{user}/permission',
  statuses: 'GET /repos/{owner}/{repo}/commits/{commit}/status',
  checks: 'GET /repos/{owner}/{repo}/commits/{commit}/check-runs',
} as const;

const PAGE = { per_page: 100 };

/** Opens the reviews and checks of pull requests on GitHub or GitHub Enterprise. `project`: `owner/repo`. */
export function openGitHubReviews(project: string, { token, ...access }: TokenAccess): PullReviews {
  const { baseUrl } = access;
  const [owner = '', repo = ''] = project.split('/');
  const parse = <T>(shape: z.ZodType<T>, value: unknown) => readShape(shape, value, baseUrl);
  const client = new ForgeClient(ROUTES, { ...access, headers: githubHeaders(token) });
  const at = { owner, repo };
  const askMayPush = async (user: string) => {
    const { value } = await client.call('permission', { params: { ...at, user } });
    return ['admin', 'write'].includes(PermissionShape.safeParse(value).data?.permission ?? '');
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
      const asking = counting.filter(({ state }) => state === 'CHANGES_REQUESTED');
      if (asking.length === 0) return [];
      // The comments of one review have no line numbers in the API; those of the pull request do.
      const listed = await client.list('comments', { params: { ...at, number }, query: PAGE });
      const comments = listed.map((each) => parse(CommentShape, each));
      const reviews: PullReview[] = [];
      for (const { id, html_url: url, user, body, commit_id: commit } of asking) {
        const author = user?.login ?? '';
        const own = comments.filter((each) => each.pull_request_review_id === id && each.user?.login === author);
        reviews.push({
          ...{ url, author, mayPush: author !== '' && (await mayPush(author)), text: body ?? '' },
          ...defined({ commit: own[0]?.original_commit_id ?? commit ?? undefined }),
          comments: own.map(toComment),
        });
      }
      return reviews;
    },
    async readChecks(commit) {
      const call = { params: { ...at, commit }, query: PAGE };
      const statuses = (await client.listFirst('statuses', { ...call, listKey: 'statuses' })).map((each) =>
        parse(StatusShape, each),
      );
      const runs = (await client.listFirst('checks', { ...call, listKey: 'check_runs' })).map((each) =>
        parse(RunShape, each),
      );
      const others = statuses.filter(({ context }) => !isOwnStatus(context));
      const isRunning =
        others.some(({ state }) => state === 'pending') || runs.some((run) => run.status !== 'completed');
      const failed: FailedCheck[] = [
        ...others.filter(({ state }) => ['failure', 'error'].includes(state)).map(toFailedStatus),
        ...runs.filter(({ conclusion }) => FAILED.includes(conclusion ?? '')).map(toFailedRun),
      ];
      return { isRunning, failed };
    },
  };
}

const FAILED = ['failure', 'timed_out', 'startup_failure'];
const PermissionShape = z.looseObject({ permission: z.string() });
const UserShape = z.looseObject({ login: z.string() }).nullish();
const ReviewShape = z.looseObject({
  id: z.number(),
  html_url: z.string(),
  state: z.string(),
  body: z.string().nullish(),
  user: UserShape,
  commit_id: z.string().nullish(),
});
const Line = z.int().positive().nullish().catch(null);
const CommentShape = z.looseObject({
  pull_request_review_id: z.number().nullish(),
  user: UserShape,
  path: z.string(),
  body: z.string(),
  side: z.string().nullish(),
  original_line: Line,
  original_start_line: Line,
  original_commit_id: z.string().nullish(),
});
const StatusShape = z.looseObject({
  context: z.string(),
  state: z.string(),
  description: z.string().nullish(),
  target_url: z.string().nullish(),
});
const RunShape = z.looseObject({
  name: z.string(),
  status: z.string(),
  conclusion: z.string().nullish(),
  html_url: z.string().nullish(),
  output: z.looseObject({ title: z.string().nullish(), summary: z.string().nullish() }).nullish(),
});

/** The lines as they were when the comment was written, at `original_commit_id`. */
function toComment({ path, body, side, ...lines }: z.output<typeof CommentShape>): ReviewComment {
  const last = lines.original_line ?? undefined;
  const line = lines.original_start_line ?? last;
  const endLine = line === last ? undefined : last;
  return { path, side: side === 'LEFT' ? 'old' : 'new', ...defined({ line, endLine }), text: body };
}

function toFailedStatus({ context, description, target_url: url }: z.output<typeof StatusShape>): FailedCheck {
  return { name: context, url: url ?? '', text: description ?? '' };
}

function toFailedRun({ name, html_url: url, output }: z.output<typeof RunShape>): FailedCheck {
  const text = [output?.title, output?.summary].filter((part) => typeof part === 'string').join('\n');
  return { name, url: url ?? '', text };
}
