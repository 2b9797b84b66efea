import { z } from 'zod';
import type { PullReview, ReviewComment } from '../core/pulls/pull-feedback.ts';
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
  toIssue,
  toPull,
  type Forge,
  type PullContent,
  type PullRequests,
  type PullReviews,
} from './forge.ts';

const ISSUE_ROUTES = {
  ...COMMON_ROUTES.issues,
  timeline: 'GET /repos/{owner}/{repo}/issues/{number}/timeline',
  labels: 'GET /repos/{owner}/{repo}/labels',
  createLabel: 'POST /repos/{owner}/{repo}/labels',
} as const;

const LABEL_COLOR = '#6e7781';

/** Opens the issues of a repository on Gitea or Forgejo. `project`: `owner/repo`. */
export function openGitea(project: string, { token, ...access }: TokenAccess): Forge {
  const { baseUrl } = access;
  const [owner = '', repo = ''] = project.split('/');
  const headers = giteaHeaders(token);
  const client = new ForgeClient(ISSUE_ROUTES, { ...access, headers });
  const at = (number?: number) => ({ owner, repo, ...defined({ number }) });
  /** Gitea names labels by id. */
  const findLabel = async (name: string) => {
    const labels = await client.list('labels', { params: at(), query: { limit: 50 } });
    return labels.map((each) => LabelShape.parse(each)).find((label) => label.name === name)?.id;
  };
  return {
    async listIssues(label) {
      const query = { state: 'open', type: 'issues', labels: label, limit: 50 };
      const found = await client.list('issues', { params: at(), query });
      return found.flatMap((each) => toIssue(each, baseUrl) ?? []).sort((a, b) => a.number - b.number);
    },
    async findIssue(number) {
      const { value, isMissing } = await client.call('issue', { params: at(number), mayMove: true });
      if (!isMissing) return toIssue(value, baseUrl);
      // A project that was renamed, or that the token may not read any more, says nothing about its issues.
      assertFound(await client.call('project', { params: at() }), baseUrl);
      return undefined;
    },
    hasComment: (number, text, since) =>
      findComment(client.pages('comments', { params: at(number), query: { since } }), text),
    wasReopened: (number, since) =>
      isReopenedSince(client.pages('timeline', { params: at(number), query: { since, limit: 50 } }), since),
    async comment(number, text) {
      assertFound(await client.call('comment', { params: at(number), body: { body: text } }), baseUrl);
    },
    async addLabel(number, label) {
      const created = async () => {
        const body = { name: label, color: LABEL_COLOR };
        return LabelShape.parse((await client.call('createLabel', { params: at(), body })).value).id;
      };
      const id = (await findLabel(label)) ?? (await created());
      assertFound(await client.call('label', { params: at(number), body: { labels: [id] } }), baseUrl);
    },
    async removeLabel(number, label) {
      const id = await findLabel(label);
      if (id !== undefined) await client.call('unlabel', { params: { ...at(number), label: id } });
    },
    async closeIssue(number) {
      assertFound(await client.call('edit', { params: at(number), body: { state: 'closed' } }), baseUrl);
    },
    async hasLanded(commit) {
      const about = await client.call('project', { params: at() });
      const branch = ProjectShape.safeParse(about.value).data?.default_branch;
      if (branch === undefined) throw notFound(baseUrl);
      const { value } = await client.call('compare', { params: { ...at(), range: `${branch}...${commit}` } });
      return CompareShape.safeParse(value).data?.total_commits === 0;
    },
  };
}

export function giteaHeaders(token: string): Record<string, string> {
  return { authorization: `token ${token}` };
}

const LabelShape = z.looseObject({ id: z.int(), name: z.string() });
const CompareShape = z.looseObject({ total_commits: z.int() });

const PULL_ROUTES = {
  ...COMMON_ROUTES.pulls,
  pull: 'GET /repos/{owner}/{repo}/pulls/{number}',
} as const;

/** Opens the pull requests of a repository on Gitea or Forgejo. `project`: `owner/repo`. */
export function openGiteaPulls(project: string, { token, ...access }: TokenAccess): PullRequests {
  const { baseUrl } = access;
  const [owner = '', repo = ''] = project.split('/');
  const client = new ForgeClient(PULL_ROUTES, { ...access, headers: giteaHeaders(token) });
  const at = { owner, repo };
  return {
    async findPull(branch, known) {
      const { value } = known === undefined ? {} : await client.call('pull', { params: { ...at, number: known } });
      if (isFrom(value, branch, project) && toPull(value, baseUrl).state === 'open') return toPull(value, baseUrl);
      // The list cannot be asked for a branch. It has the newest first.
      const query = { state: 'all', sort: 'newest', limit: 50 };
      for await (const page of client.pages('pulls', { params: at, query })) {
        const found = page?.find((each) => isFrom(each, branch, project));
        if (found !== undefined) return toPull(found, baseUrl);
      }
      return undefined;
    },
    async createPull({ branch, base, ...content }) {
      const created = await client.call('create', { params: at, body: { head: branch, base, ...contentOf(content) } });
      assertFound(created, baseUrl);
      return toPull(created.value, baseUrl);
    },
    async updatePull(number, { base, ...content }) {
      const body = { ...contentOf(content), ...defined({ base }) };
      assertFound(await client.call('edit', { params: { ...at, number }, body }), baseUrl);
    },
    async setStatus(commit, status) {
      assertFound(await client.call('status', { params: { ...at, commit }, body: status }), baseUrl);
    },
  };
}

/** The title says whether it is a draft. */
function contentOf({ title, body, isDraft }: PullContent) {
  return { title: isDraft ? `WIP: ${title}` : title, body };
}

const HeadShape = z.looseObject({
  head: z.looseObject({ ref: z.string(), repo: z.looseObject({ full_name: z.string() }).nullish() }),
});

function isFrom(value: unknown, branch: string, project: string): boolean {
  const head = HeadShape.safeParse(value).data?.head;
  return head?.ref === branch && head.repo?.full_name.toLowerCase() === project.toLowerCase();
}

const REVIEW_ROUTES = {
  ...COMMON_ROUTES.reviews,
  comments: 'GET /repos/{owner}/{repo}/pulls/{number}/reviews/{review}/comments',
} as const;

const PAGE = { limit: 50 };

/** Opens the reviews and checks of pull requests on Gitea or Forgejo. `project`: `owner/repo`. */
export function openGiteaReviews(project: string, { token, ...access }: TokenAccess): PullReviews {
  const { baseUrl } = access;
  const [owner = '', repo = ''] = project.split('/');
  const parse = <T>(shape: z.ZodType<T>, value: unknown) => readShape(shape, value, baseUrl);
  const client = new ForgeClient(REVIEW_ROUTES, { ...access, headers: giteaHeaders(token) });
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
