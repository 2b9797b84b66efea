import { z } from 'zod';
import type { ReviewComment } from '../core/pulls/pull-review.ts';
import { defined } from '../lib/guards.ts';
import { ForgeClient, type ForgeAccess } from './forge-client.ts';
import {
  findComment,
  isReopenedSince,
  readDefaultBranch,
  type Forge,
  type ForgeAdapter,
  type PullContent,
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

/** Gitea and Forgejo. A project is `owner/repo`. */
export const gitea: ForgeAdapter = {
  headers: (token) => ({ authorization: `token ${token}` }),
  params: repositoryParams,
  openIssues,
  openPulls,
  openReviews,
  // Needs the scope `read:issue`; whether the token may write cannot be read.
  probe: 'GET /repos/issues/search?limit=1',
  findMissing: () => undefined,
};

const ISSUE_ROUTES = {
  ...COMMON_ROUTES.issues,
  timeline: 'GET /repos/{owner}/{repo}/issues/{number}/timeline',
  labels: 'GET /repos/{owner}/{repo}/labels',
  createLabel: 'POST /repos/{owner}/{repo}/labels',
} as const;

const PAGE = { limit: 50 };
const LABEL_COLOR = '#6e7781';

function openIssues(access: ForgeAccess): Forge {
  const client = new ForgeClient(ISSUE_ROUTES, access);
  /** Gitea names labels by id. */
  const findLabel = async (name: string) => {
    const labels = await client.list('labels', { query: PAGE });
    return labels.map((each) => LabelShape.parse(each)).find((label) => label.name === name)?.id;
  };
  const createLabel = async (name: string) =>
    LabelShape.parse((await client.call('createLabel', { body: { name, color: LABEL_COLOR } })).value).id;
  return {
    ...commonIssues(client),
    async listIssues(label) {
      const found = await listCommonIssues(client, { type: 'issues', labels: label, ...PAGE });
      return found.sort((a, b) => a.number - b.number);
    },
    hasComment: (number, text, since) =>
      findComment(client.pages('comments', { params: { number }, query: { since } }), text),
    wasReopened: (number, since) =>
      isReopenedSince(client.pages('timeline', { params: { number }, query: { since, ...PAGE } }), since),
    async addLabel(number, label) {
      const id = (await findLabel(label)) ?? (await createLabel(label));
      await client.require('label', { params: { number }, body: { labels: [id] } });
    },
    async removeLabel(number, label) {
      const id = await findLabel(label);
      if (id !== undefined) await client.call('unlabel', { params: { number, label: id } });
    },
    async hasLanded(commit) {
      const range = `${await readDefaultBranch(client)}...${commit}`;
      const { value } = await client.call('compare', { params: { range } });
      return CompareShape.safeParse(value).data?.total_commits === 0;
    },
  };
}

const LabelShape = z.looseObject({ id: z.int(), name: z.string() });
const CompareShape = z.looseObject({ total_commits: z.int() });

const PULL_ROUTES = { ...COMMON_ROUTES.pulls, pull: COMMON_ROUTES.reviews.pull } as const;

function openPulls(access: ForgeAccess, project: string): PullRequests {
  const client = new ForgeClient(PULL_ROUTES, access);
  return {
    async findPull(branch, known) {
      const { value } = known === undefined ? {} : await client.call('pull', { params: { number: known } });
      if (isFrom(value, branch, project)) {
        const pull = client.parse(PullShape, value);
        if (pull.state === 'open') return pull;
      }
      // The list cannot be asked for a branch. It has the newest first.
      const query = { state: 'all', sort: 'newest', ...PAGE };
      for await (const page of client.pages('pulls', { query })) {
        const found = page?.find((each) => isFrom(each, branch, project));
        if (found !== undefined) return client.parse(PullShape, found);
      }
      return undefined;
    },
    async createPull({ branch, base, ...content }) {
      const body = { head: branch, base, ...contentOf(content) };
      return client.parse(PullShape, await client.require('create', { body }));
    },
    async updatePull(number, { base, ...content }) {
      await client.require('edit', { params: { number }, body: { ...contentOf(content), ...defined({ base }) } });
    },
    async setStatus(commit, status) {
      await client.require('status', { params: { commit }, body: status });
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

function openReviews(access: ForgeAccess): PullReviews {
  const client = new ForgeClient(REVIEW_ROUTES, access);
  return commonReviews(client, {
    page: PAGE,
    asking: 'REQUEST_CHANGES',
    openComments: (number) => async (review) => {
      const listed = await client.list('comments', { params: { number, review: review.id } });
      // Replies of other people belong to the same review.
      const own = listed
        .map((each) => client.parse(CommentShape, each))
        .filter(({ user }) => user?.login === review.user?.login);
      return { comments: own.map(toComment) };
    },
  });
}

/** `position` is a line of the new file and `original_position` one of the old file; the other one is 0. */
const CommentShape = z.looseObject({
  user: UserShape,
  path: z.string(),
  body: z.string(),
  position: z.int().nonnegative().nullish(),
  original_position: z.int().nonnegative().nullish(),
});

function toComment({ path, body, position, original_position: old }: z.output<typeof CommentShape>): ReviewComment {
  const isOld = !position && Boolean(old);
  const line = (isOld ? old : position) || undefined;
  return { path, side: isOld ? 'old' : 'new', ...defined({ line: line ?? undefined }), text: body };
}
