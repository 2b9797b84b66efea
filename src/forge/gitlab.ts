import { z } from 'zod';
import { quotedText } from '../core/failure/errors.ts';
import type { PullReview, ReviewComment } from '../core/pulls/pull-review.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { memoizeAsync } from '../lib/async.ts';
import { defined } from '../lib/guards.ts';
import { ForgeClient, type ForgeAccess, type ForgeResponse } from './forge-client.ts';
import {
  findComment,
  isOwnStatus,
  isReopenedSince,
  readDefaultBranch,
  type Forge,
  type ForgeAdapter,
  type Issue,
  type Pull,
  type PullContent,
  type PullRequests,
  type PullReviews,
} from './forge.ts';

/** GitLab. A project is its path, such as `group/subgroup/project`. */
export const gitlab: ForgeAdapter = {
  url: 'https://gitlab.com/api/v4',
  headers: (token) => ({ 'private-token': token }),
  params: (project) => ({ id: project }),
  openIssues,
  openPulls,
  openReviews,
  probe: 'GET /personal_access_tokens/self',
  findMissing: findMissingScope,
};

const ISSUE_ROUTES = {
  project: 'GET /projects/{id}',
  issues: 'GET /projects/{id}/issues',
  issue: 'GET /projects/{id}/issues/{number}',
  edit: 'PUT /projects/{id}/issues/{number}',
  comments: 'GET /projects/{id}/issues/{number}/notes',
  events: 'GET /projects/{id}/issues/{number}/resource_state_events',
  comment: 'POST /projects/{id}/issues/{number}/notes',
  branches: 'GET /projects/{id}/repository/commits/{commit}/refs',
} as const;

const PAGE = { per_page: 100 };

function openIssues(access: ForgeAccess): Forge {
  const client = new ForgeClient(ISSUE_ROUTES, access);
  const edit = async (number: number, body: Record<string, string>) => {
    await client.require('edit', { params: { number }, body });
  };
  return {
    async listIssues(label) {
      const query = { state: 'opened', labels: label, ...PAGE, order_by: 'created_at', sort: 'asc' };
      return (await client.list('issues', { query })).map((each) => client.parse(IssueShape, each));
    },
    async findIssue(number) {
      const { value, isMissing } = await client.call('issue', { params: { number }, mayMove: true });
      if (!isMissing) return isMoved(value) ? undefined : client.parse(IssueShape, value);
      // A project that the token may not read any more says nothing about its issues.
      await client.require('project');
      return undefined;
    },
    hasComment: (number, text, since) => {
      const query = { ...PAGE, sort: 'desc', order_by: 'created_at' };
      return findComment(client.pages('comments', { params: { number }, query }), text, since);
    },
    wasReopened: (number, since) => isReopenedSince(client.pages('events', { params: { number }, query: PAGE }), since),
    async comment(number, text) {
      await client.require('comment', { params: { number }, body: { body: text } });
    },
    addLabel: (number, label) => edit(number, { add_labels: label }),
    removeLabel: (number, label) => edit(number, { remove_labels: label }),
    closeIssue: (number) => edit(number, { state_event: 'close' }),
    async hasLanded(commit) {
      const branch = await readDefaultBranch(client);
      const call = { params: { commit }, query: { type: 'branch', ...PAGE } };
      if ((await client.call('branches', call)).isMissing) return false;
      const branches = await client.list('branches', call);
      return branches.some((each) => BranchShape.safeParse(each).data?.name === branch);
    },
  };
}

const IssueShape = z
  .looseObject({
    iid: z.int().positive(),
    title: z.string(),
    description: z.string().nullish(),
    state: z.string(),
    labels: z.array(z.string()),
  })
  .transform(({ iid: number, title, description, state, labels }): Issue => {
    return { number, title, body: description ?? '', labels, isClosed: state !== 'opened' };
  });
const MovedShape = z.looseObject({ moved_to_id: z.int().nullish() });
const BranchShape = z.looseObject({ type: z.string(), name: z.string() });

/** The closed issue that remains of an issue in another project. */
function isMoved(value: unknown): boolean {
  return typeof MovedShape.safeParse(value).data?.moved_to_id === 'number';
}

const PULL_ROUTES = {
  pulls: 'GET /projects/{id}/merge_requests',
  pull: 'GET /projects/{id}/merge_requests/{number}',
  project: 'GET /projects/{id}',
  create: 'POST /projects/{id}/merge_requests',
  edit: 'PUT /projects/{id}/merge_requests/{number}',
  status: 'POST /projects/{id}/statuses/{commit}',
} as const;

const STATES = { pending: 'pending', success: 'success', failure: 'failed' } as const;

function openPulls(access: ForgeAccess): PullRequests {
  const client = new ForgeClient(PULL_ROUTES, access);
  return {
    async findPull(branch, known) {
      const { value } = known === undefined ? {} : await client.call('pull', { params: { number: known } });
      const pull = findPullFrom([value], branch);
      if (pull?.state === 'open') return pull;
      // Anyone may open many from a branch of this name in a fork.
      const { value: about } = await client.call('project');
      const id = ProjectIdShape.safeParse(about).data?.id;
      const query = { source_branch: branch, state: 'all', order_by: 'created_at', sort: 'desc', ...PAGE };
      const asked = { ...query, ...defined({ source_project_id: id }) };
      for await (const page of client.pages('pulls', { query: asked })) {
        const own = findPullFrom(page ?? [], branch);
        if (own !== undefined) return own;
      }
      return undefined;
    },
    async createPull({ branch, base, ...content }) {
      const body = { source_branch: branch, target_branch: base, ...contentOf(content) };
      return toPull(client.parse(PullShape, await client.require('create', { body })));
    },
    async updatePull(number, { base, ...content }) {
      const body = { ...contentOf(content), ...defined({ target_branch: base }) };
      await client.require('edit', { params: { number }, body });
    },
    async setStatus(commit, { context, state, description }) {
      const body = { state: STATES[state], name: context, description };
      await client.require('status', { params: { commit }, body }).catch((error: unknown) => {
        // GitLab refuses a status that the commit has already.
        if (!/Cannot transition status/i.test(quotedText(error) ?? '')) throw error;
      });
    },
  };
}

/** The title says whether it is a draft. */
function contentOf({ title, body, isDraft }: PullContent) {
  return { title: isDraft ? `Draft: ${title}` : title, description: body };
}

const ProjectIdShape = z.looseObject({ id: z.int().positive() });

/** The first one from a branch of the project itself. Those of forks have the same branch, perhaps, but another project. */
function findPullFrom(values: readonly unknown[], branch: string): Pull | undefined {
  const found = values
    .flatMap((value) => PullShape.safeParse(value).data ?? [])
    .find((pull) => pull.source_project_id === pull.target_project_id && (pull.source_branch ?? branch) === branch);
  return found && toPull(found);
}

const PullShape = z.looseObject({
  source_branch: z.string().nullish(),
  iid: z.int().positive(),
  web_url: z.string(),
  state: z.string(),
  draft: z.boolean().nullish(),
  source_project_id: z.int().nullish(),
  target_project_id: z.int().nullish(),
  labels: z.array(z.string()).nullish(),
  target_branch: z.string(),
  sha: z.string().nullish(),
});

function toPull({
  iid: number,
  web_url: url,
  labels,
  target_branch: base,
  sha,
  ...data
}: z.output<typeof PullShape>): Pull {
  const state = data.state === 'merged' ? 'merged' : data.state === 'opened' ? 'open' : 'closed';
  const known = { number, url, state, isDraft: data.draft === true, labels: labels ?? [], base } as const;
  return { ...known, ...defined({ head: sha ?? undefined }) };
}

const REVIEW_ROUTES = {
  pull: 'GET /projects/{id}/merge_requests/{number}',
  reviewers: 'GET /projects/{id}/merge_requests/{number}/reviewers',
  discussions: 'GET /projects/{id}/merge_requests/{number}/discussions',
  member: 'GET /projects/{id}/members/all/{user}',
  statuses: 'GET /projects/{id}/repository/commits/{commit}/statuses',
} as const;

/** The role Developer, which may push. */
const DEVELOPER = 30;

/**
 * A review of GitLab has no address: it is what a reviewer who requests changes has written in threads that are not
 * resolved, and the newest of these comments identifies it.
 */
function openReviews(access: ForgeAccess): PullReviews {
  const client = new ForgeClient(REVIEW_ROUTES, access);
  const askMayPush = async (user: number) => {
    const { value } = await client.call('member', { params: { user } });
    return (MemberShape.safeParse(value).data?.access_level ?? 0) >= DEVELOPER;
  };
  const readPull: PullReviews['readPull'] = async (number) => {
    const { value, isMissing } = await client.call('pull', { params: { number } });
    return isMissing ? undefined : toPull(client.parse(PullShape, value));
  };
  return {
    readPull,
    async listReviews(number) {
      const mayPush = memoizeAsync(askMayPush);
      const params = { number };
      const reviewers = (await client.list('reviewers', { params, query: PAGE })).map((each) =>
        client.parse(ReviewerShape, each),
      );
      const asking = reviewers.filter(({ state }) => state === 'requested_changes');
      const pull = asking.length === 0 ? undefined : await readPull(number);
      if (pull === undefined) return [];
      const threads = await client.list('discussions', { params, query: PAGE });
      // The first note of each thread: replies and plain comments ask for nothing new.
      const notes = threads.flatMap((each) => client.parse(ThreadShape, each).notes.slice(0, 1));
      const started = notes.filter(({ system, resolvable }) => system !== true && resolvable === true);
      const reviews: PullReview[] = [];
      for (const { user } of asking) {
        const all = started.filter(({ author }) => author.id === user.id);
        const own = all.filter(({ resolved }) => resolved !== true);
        // Also of resolved ones: resolving a thread is not a new review.
        const newest = all.reduce((id, note) => Math.max(id, note.id), 0);
        if (own.length === 0) continue;
        const located = own.filter(({ position }) => position !== null && position !== undefined);
        reviews.push({
          ...{ url: `${pull.url}#note_${newest}`, author: user.username, mayPush: await mayPush(user.id) },
          text: own
            .filter((note) => !located.includes(note))
            .map(({ body }) => body)
            .join('\n\n'),
          ...defined({ commit: located.at(-1)?.position?.head_sha ?? undefined }),
          comments: located.map(toComment),
        });
      }
      return reviews;
    },
    async readChecks(commit) {
      const listed = await client.listFirst('statuses', { params: { commit }, query: PAGE });
      const others = listed.map((each) => client.parse(StatusShape, each)).filter(({ name }) => !isOwnStatus(name));
      return {
        isRunning: others.some(({ status }) => RUNNING.includes(status)),
        failed: others
          .filter(({ status, allow_failure: isAllowed }) => status === 'failed' && isAllowed !== true)
          .map(({ name, target_url: url, description }) => ({ name, url: url ?? '', text: description ?? '' })),
      };
    },
  };
}

const RUNNING = [
  'created',
  'waiting_for_resource',
  'preparing',
  'pending',
  'running',
  'scheduled',
  'waiting_for_callback',
  'canceling',
];
const MemberShape = z.looseObject({ access_level: z.number() });
const ReviewerShape = z.looseObject({
  user: z.looseObject({ id: z.number(), username: z.string() }),
  state: z.string(),
});
const Line = z.int().positive().nullish().catch(null);
const NoteShape = z.looseObject({
  id: z.number(),
  body: z.string(),
  author: z.looseObject({ id: z.number() }),
  system: z.boolean().nullish(),
  resolvable: z.boolean().nullish(),
  resolved: z.boolean().nullish(),
  position: z
    .looseObject({
      head_sha: z.string().nullish(),
      old_path: z.string().nullish(),
      new_path: z.string().nullish(),
      old_line: Line,
      new_line: Line,
    })
    .nullish(),
});
const ThreadShape = z.looseObject({ notes: z.array(NoteShape) });
const StatusShape = z.looseObject({
  name: z.string(),
  status: z.string(),
  allow_failure: z.boolean().nullish(),
  description: z.string().nullish(),
  target_url: z.string().nullish(),
});

/** A comment on an unchanged line names both lines. */
function toComment({ body, position }: z.output<typeof NoteShape>): ReviewComment {
  const { old_path: oldPath, new_path: newPath, old_line: oldLine, new_line: newLine } = position ?? {};
  const isOld = !newLine && Boolean(oldLine);
  const path = (isOld ? oldPath : newPath) ?? oldPath ?? '';
  return {
    path,
    side: isOld ? 'old' : 'new',
    ...defined({ line: (isOld ? oldLine : newLine) ?? undefined }),
    text: body,
  };
}

const TokenShape = z.looseObject({ scopes: z.array(z.string()) });

/** A server before 15.5 does not know this request. */
function findMissingScope({ value, isMissing }: ForgeResponse, withReports: boolean): string | undefined {
  const scopes = isMissing ? undefined : TokenShape.safeParse(value).data?.scopes;
  if (scopes === undefined || scopes.includes('api') || (!withReports && scopes.includes('read_api'))) return undefined;
  return `the scope \`${withReports ? 'api' : 'read_api'}\`: it has ${safeLine(scopes.join(', '), 200) || 'none'}`;
}
