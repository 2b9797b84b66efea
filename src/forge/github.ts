import { z } from 'zod';
import { HaloError } from '../core/failure/errors.ts';
import type { FailedCheck, PullReview, ReviewComment } from '../core/pulls/pull-feedback.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { memoizeAsync } from '../lib/async.ts';
import { defined } from '../lib/guards.ts';
import { assertFound, ForgeClient, notFound, readShape, type TokenAccess } from './forge-client.ts';
import {
  COMMON_ROUTES,
  findComment,
  isOwnStatus,
  isReopenedSince,
  notApprovedLater,
  ProjectShape,
  PullShape,
  toIssue,
  toPull,
  type Forge,
  type PullRequests,
  type PullReviews,
} from './forge.ts';

const ISSUE_ROUTES = {
  ...COMMON_ROUTES.issues,
  events: 'GET /repos/{owner}/{repo}/issues/{number}/events',
} as const;

export const GITHUB_URL = 'https://api.github.com';

/** Opens the issues of a repository on GitHub or GitHub Enterprise. `project`: `owner/repo`. */
export function openGitHub(project: string, { token, ...access }: TokenAccess): Forge {
  const { baseUrl } = access;
  const [owner = '', repo = ''] = project.split('/');
  const headers = githubHeaders(token);
  const client = new ForgeClient(ISSUE_ROUTES, { ...access, headers });
  const at = (number?: number) => ({ owner, repo, ...defined({ number }) });
  return {
    async listIssues(label) {
      const query = { state: 'open', labels: label, per_page: 100, sort: 'created', direction: 'asc' };
      const found = await client.list('issues', { params: at(), query });
      return found.flatMap((each) => toIssue(each, baseUrl) ?? []);
    },
    async findIssue(number) {
      const { value, isMissing } = await client.call('issue', { params: at(number), mayMove: true });
      if (!isMissing) return toIssue(value, baseUrl);
      // A project that was renamed, or that the token may not read any more, says nothing about its issues.
      assertFound(await client.call('project', { params: at() }), baseUrl);
      return undefined;
    },
    hasComment: (number, text, since) =>
      findComment(client.pages('comments', { params: at(number), query: { since, per_page: 100 } }), text),
    wasReopened: (number, since) =>
      isReopenedSince(client.pages('events', { params: at(number), query: { per_page: 100 } }), since),
    async comment(number, text) {
      assertFound(await client.call('comment', { params: at(number), body: { body: text } }), baseUrl);
    },
    async addLabel(number, label) {
      assertFound(await client.call('label', { params: at(number), body: { labels: [label] } }), baseUrl);
    },
    async removeLabel(number, label) {
      await client.call('unlabel', { params: { ...at(number), label } });
    },
    async closeIssue(number) {
      assertFound(await client.call('edit', { params: at(number), body: { state: 'closed' } }), baseUrl);
    },
    async hasLanded(commit) {
      const about = await client.call('project', { params: at() });
      const branch = ProjectShape.safeParse(about.value).data?.default_branch;
      if (branch === undefined) throw notFound(baseUrl);
      // Only the first page has the changed files, which nothing needs.
      const query = { per_page: 1, page: 2 };
      const { value } = await client.call('compare', { params: { ...at(), range: `${commit}...${branch}` }, query });
      return ['ahead', 'identical'].includes(CompareShape.safeParse(value).data?.status ?? '');
    },
  };
}

export function githubHeaders(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}`, 'x-github-api-version': '2022-11-28' };
}
const CompareShape = z.looseObject({ status: z.string() });

/** Only GraphQL changes whether a pull request is a draft. */
const GRAPHQL_ROUTES = { query: 'POST /graphql' } as const;
const READY = 'mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }';
const DRAFT = 'mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { clientMutationId } }';

/** Opens the pull requests of a repository on GitHub or GitHub Enterprise. `project`: `owner/repo`. */
export function openGitHubPulls(project: string, { token, ...access }: TokenAccess): PullRequests {
  const { baseUrl } = access;
  const [owner = '', repo = ''] = project.split('/');
  const headers = githubHeaders(token);
  const client = new ForgeClient(COMMON_ROUTES.pulls, { ...access, headers });
  // GitHub Enterprise: /api/v3 and /api/graphql.
  const graphql = new ForgeClient(GRAPHQL_ROUTES, { ...access, baseUrl: baseUrl.replace(/\/v3$/, ''), headers });
  const at = { owner, repo };
  return {
    async findPull(branch) {
      const query = { head: `${owner}:${branch}`, state: 'all', sort: 'created', direction: 'desc', per_page: 1 };
      const { value } = await client.call('pulls', { params: at, query });
      const [newest] = Array.isArray(value) ? (value as unknown[]) : [];
      return newest === undefined ? undefined : toPull(newest, baseUrl);
    },
    async createPull({ branch, base, title, body, isDraft }) {
      const create = async (draft: boolean) => {
        const created = await client.call('create', { params: at, body: { head: branch, base, title, body, draft } });
        assertFound(created, baseUrl);
        return toPull(created.value, baseUrl);
      };
      // Private repositories of some plans have no drafts.
      return create(isDraft).catch((error: unknown) => {
        if (isDraft && error instanceof HaloError && /draft/i.test(error.message)) return create(false);
        throw error;
      });
    },
    async updatePull(number, { title, body, isDraft, base }) {
      const params = { ...at, number };
      const edited = await client.call('edit', { params, body: { title, body, ...defined({ base }) } });
      assertFound(edited, baseUrl);
      const { data } = PullShape.safeParse(edited.value);
      if (data?.node_id === undefined || data.draft === isDraft) return;
      const mutation = { query: isDraft ? DRAFT : READY, variables: { id: data.node_id } };
      const [fault] = FaultsShape.safeParse((await graphql.call('query', { body: mutation })).value).data?.errors ?? [];
      // Where there are no drafts, it stays ready.
      if (fault === undefined || isDraft) return;
      throw new HaloError(
        'FORGE_FAILED',
        `The forge ${baseUrl} did not mark the pull request as ready: ${safeLine(fault.message)}.`,
        {
          hint: 'Check the permissions of the token that `token_env` below [forge] names: it needs write access to pull requests.',
        },
      );
    },
    async setStatus(commit, status) {
      assertFound(await client.call('status', { params: { ...at, commit }, body: status }), baseUrl);
    },
  };
}

/** GraphQL answers 200 also to what it refuses. */
const FaultsShape = z.looseObject({ errors: z.array(z.looseObject({ message: z.string() })).optional() });

const REVIEW_ROUTES = {
  ...COMMON_ROUTES.reviews,
  comments: 'GET /repos/{owner}/{repo}/pulls/{number}/comments',
  checks: 'GET /repos/{owner}/{repo}/commits/{commit}/check-runs',
} as const;

const PAGE = { per_page: 100 };

/** Opens the reviews and checks of pull requests on GitHub or GitHub Enterprise. `project`: `owner/repo`. */
export function openGitHubReviews(project: string, { token, ...access }: TokenAccess): PullReviews {
  const { baseUrl } = access;
  const [owner = '', repo = ''] = project.split('/');
  const parse = <T>(shape: z.ZodType<T>, value: unknown) => readShape(shape, value, baseUrl);
  const client = new ForgeClient(REVIEW_ROUTES, { ...access, headers: githubHeaders(token) });
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
