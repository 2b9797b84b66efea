import { z } from 'zod';
import { HaloError, quotedText } from '../core/failure/errors.ts';
import type { FailedCheck, ReviewComment } from '../core/pulls/pull-review.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { memoizeAsync } from '../lib/async.ts';
import { defined } from '../lib/guards.ts';
import { ForgeClient, type ForgeAccess, type ForgeResponse } from './forge-client.ts';
import {
  findComment,
  isReopenedSince,
  readDefaultBranch,
  type Forge,
  type ForgeAdapter,
  type PullRequests,
  type PullReviews,
} from './forge.ts';
import {
  COMMON_ROUTES,
  commonIssues,
  commonReviews,
  listCommonIssues,
  PullShape,
  repositoryParams,
  UserShape,
} from './github-like.ts';

/** GitHub and GitHub Enterprise. A project is `owner/repo`. */
export const github: ForgeAdapter = {
  url: 'https://api.github.com',
  headers: (token) => ({ authorization: `Bearer ${token}`, 'x-github-api-version': '2022-11-28' }),
  params: repositoryParams,
  openIssues,
  openPulls,
  openReviews,
  // GitHub Enterprise responds with 404 if it has no rate limits.
  probe: 'GET /rate_limit',
  findMissing: findMissingScope,
};

const ISSUE_ROUTES = {
  ...COMMON_ROUTES.issues,
  events: 'GET /repos/{owner}/{repo}/issues/{number}/events',
} as const;

const PAGE = { per_page: 100 };

function openIssues(access: ForgeAccess): Forge {
  const client = new ForgeClient(ISSUE_ROUTES, access);
  return {
    ...commonIssues(client),
    listIssues: (label) => listCommonIssues(client, { labels: label, ...PAGE, sort: 'created', direction: 'asc' }),
    hasComment: (number, text, since) =>
      findComment(client.pages('comments', { params: { number }, query: { since, ...PAGE } }), text),
    wasReopened: (number, since) => isReopenedSince(client.pages('events', { params: { number }, query: PAGE }), since),
    async addLabel(number, label) {
      await client.require('label', { params: { number }, body: { labels: [label] } });
    },
    async removeLabel(number, label) {
      await client.call('unlabel', { params: { number, label } });
    },
    async hasLanded(commit) {
      const range = `${commit}...${await readDefaultBranch(client)}`;
      // Only the first page has the changed files, which nothing needs.
      const { value } = await client.call('compare', { params: { range }, query: { per_page: 1, page: 2 } });
      return ['ahead', 'identical'].includes(CompareShape.safeParse(value).data?.status ?? '');
    },
  };
}

const CompareShape = z.looseObject({ status: z.string() });

/** Only GraphQL changes whether a pull request is a draft. */
const GRAPHQL_ROUTES = { query: 'POST /graphql' } as const;
const READY = 'mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }';
const DRAFT = 'mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { clientMutationId } }';

function openPulls(access: ForgeAccess): PullRequests {
  const { baseUrl, params: { owner = '' } = {} } = access;
  const client = new ForgeClient(COMMON_ROUTES.pulls, access);
  // GitHub Enterprise: /api/v3 and /api/graphql.
  const graphql = new ForgeClient(GRAPHQL_ROUTES, { ...access, baseUrl: baseUrl.replace(/\/v3$/, '') });
  return {
    async findPull(branch) {
      const query = { head: `${owner}:${branch}`, state: 'all', sort: 'created', direction: 'desc', per_page: 1 };
      const { value } = await client.call('pulls', { query });
      const [newest] = Array.isArray(value) ? (value as unknown[]) : [];
      return newest === undefined ? undefined : client.parse(PullShape, newest);
    },
    async createPull({ branch, base, title, body, isDraft }) {
      const create = async (draft: boolean) =>
        client.parse(PullShape, await client.require('create', { body: { head: branch, base, title, body, draft } }));
      // Private repositories of some plans have no drafts.
      return create(isDraft).catch((error: unknown) => {
        if (isDraft && /draft/i.test(quotedText(error) ?? '')) return create(false);
        throw error;
      });
    },
    async updatePull(number, { title, body, isDraft, base }) {
      const edited = await client.require('edit', { params: { number }, body: { title, body, ...defined({ base }) } });
      const { data } = DraftShape.safeParse(edited);
      if (data === undefined || data.draft === isDraft) return;
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
      await client.require('status', { params: { commit }, body: status });
    },
  };
}

const DraftShape = z.looseObject({ node_id: z.string(), draft: z.boolean().nullish() });
/** GraphQL answers 200 also to what it refuses. */
const FaultsShape = z.looseObject({ errors: z.array(z.looseObject({ message: z.string() })).optional() });

const REVIEW_ROUTES = {
  ...COMMON_ROUTES.reviews,
  comments: 'GET /repos/{owner}/{repo}/pulls/{number}/comments',
  checks: 'GET /repos/{owner}/{repo}/commits/{commit}/check-runs',
} as const;

function openReviews(access: ForgeAccess): PullReviews {
  const client = new ForgeClient(REVIEW_ROUTES, access);
  const common = commonReviews(client, {
    page: PAGE,
    asking: 'CHANGES_REQUESTED',
    openComments(number) {
      // The comments of one review have no line numbers in the API; those of the pull request do.
      const list = memoizeAsync(() => client.list('comments', { params: { number }, query: PAGE }));
      return async ({ id, user }) => {
        const own = (await list(undefined))
          .map((each) => client.parse(CommentShape, each))
          .filter((each) => each.pull_request_review_id === id && each.user?.login === user?.login);
        return { comments: own.map(toComment), ...defined({ commit: own[0]?.original_commit_id ?? undefined }) };
      };
    },
  });
  return {
    ...common,
    async readChecks(commit) {
      const { isRunning, failed } = await common.readChecks(commit);
      const listed = await client.listFirst('checks', { params: { commit }, query: PAGE, listKey: 'check_runs' });
      const runs = listed.map((each) => client.parse(RunShape, each));
      const failedRuns = runs.filter(({ conclusion }) => FAILED.includes(conclusion ?? ''));
      return {
        isRunning: isRunning || runs.some((run) => run.status !== 'completed'),
        failed: [...failed, ...failedRuns.map(toFailedCheck)],
      };
    },
  };
}

const FAILED = ['failure', 'timed_out', 'startup_failure'];
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

function toFailedCheck({ name, html_url: url, output }: z.output<typeof RunShape>): FailedCheck {
  const text = [output?.title, output?.summary].filter((part) => typeof part === 'string').join('\n');
  return { name, url: url ?? '', text };
}

/** Only classic tokens have scopes; the permissions of others are known per project only. */
function findMissingScope({ scopes }: ForgeResponse): string | undefined {
  if (scopes === undefined) return undefined;
  const has = scopes.split(',').map((scope) => scope.trim());
  return has.includes('repo') || has.includes('public_repo') ? undefined : 'the scope `repo` or `public_repo`';
}
