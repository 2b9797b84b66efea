import { z } from 'zod';
import { HaloError } from '../core/failure/errors.ts';
import type { PullReview, ReviewComment } from '../core/pulls/pull-feedback.ts';
import { memoizeAsync } from '../lib/async.ts';
import { defined } from '../lib/guards.ts';
import { assertFound, ForgeClient, malformed, notFound, readShape, type TokenAccess } from './forge-client.ts';
import {
  findComment,
  isOwnStatus,
  isReopenedSince,
  ProjectShape,
  type Forge,
  type Issue,
  type Pull,
  type PullContent,
  type PullRequests,
  type PullReviews,
} from './forge.ts';

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

export const GITLAB_URL = 'https://gitlab.com/api/v4';

/** Opens the issues of a project on GitLab. `project`: its path, such as `group/subgroup/project`. */
export function openGitLab(project: string, { token, ...access }: TokenAccess): Forge {
  const { baseUrl } = access;
  const headers = gitlabHeaders(token);
  const client = new ForgeClient(ISSUE_ROUTES, { ...access, headers });
  const at = (number?: number) => ({ id: project, ...defined({ number }) });
  const edit = async (number: number, body: Record<string, string>) =>
    assertFound(await client.call('edit', { params: at(number), body }), baseUrl);
  return {
    async listIssues(label) {
      const query = { state: 'opened', labels: label, per_page: 100, order_by: 'created_at', sort: 'asc' };
      return (await client.list('issues', { params: at(), query })).map((each) => toGitLabIssue(each, baseUrl));
    },
    async findIssue(number) {
      const { value, isMissing } = await client.call('issue', { params: at(number), mayMove: true });
      if (!isMissing) return isMoved(value) ? undefined : toGitLabIssue(value, baseUrl);
      // A project that the token may not read any more says nothing about its issues.
      assertFound(await client.call('project', { params: at() }), baseUrl);
      return undefined;
    },
    hasComment: (number, text, since) => {
      const query = { per_page: 100, sort: 'desc', order_by: 'created_at' };
      return findComment(client.pages('comments', { params: at(number), query }), text, since);
    },
    wasReopened: (number, since) =>
      isReopenedSince(client.pages('events', { params: at(number), query: { per_page: 100 } }), since),
    async comment(number, text) {
      assertFound(await client.call('comment', { params: at(number), body: { body: text } }), baseUrl);
    },
    addLabel: (number, label) => edit(number, { add_labels: label }),
    removeLabel: (number, label) => edit(number, { remove_labels: label }),
    closeIssue: (number) => edit(number, { state_event: 'close' }),
    async hasLanded(commit) {
      const about = await client.call('project', { params: at() });
      const branch = ProjectShape.safeParse(about.value).data?.default_branch;
      if (branch === undefined) throw notFound(baseUrl);
      const call = { params: { ...at(), commit }, query: { type: 'branch', per_page: 100 } };
      if ((await client.call('branches', call)).isMissing) return false;
      const branches = await client.list('branches', call);
      return branches.some((each) => BranchShape.safeParse(each).data?.name === branch);
    },
  };
}

export function gitlabHeaders(token: string): Record<string, string> {
  return { 'private-token': token };
}

const IssueShape = z.looseObject({
  iid: z.int().positive(),
  title: z.string(),
  description: z.string().nullish(),
  state: z.string(),
  labels: z.array(z.string()),
});
const MovedShape = z.looseObject({ moved_to_id: z.int().nullish() });
const BranchShape = z.looseObject({ type: z.string(), name: z.string() });

/** The closed issue that remains of an issue in another project. */
function isMoved(value: unknown): boolean {
  return typeof MovedShape.safeParse(value).data?.moved_to_id === 'number';
}

function toGitLabIssue(value: unknown, baseUrl: string): Issue {
  const { data } = IssueShape.safeParse(value);
  if (data === undefined) throw malformed(baseUrl);
  const { iid: number, title, description, state, labels } = data;
  return { number, title, body: description ?? '', labels, isClosed: state !== 'opened' };
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

/** Opens the merge requests of a project on GitLab. `project`: its path. */
export function openGitLabPulls(project: string, { token, ...access }: TokenAccess): PullRequests {
  const { baseUrl } = access;
  const client = new ForgeClient(PULL_ROUTES, { ...access, headers: gitlabHeaders(token) });
  const at = { id: project };
  return {
    async findPull(branch, known) {
      const isOwn = (value: unknown) => isFrom(value, branch);
      const { value } = known === undefined ? {} : await client.call('pull', { params: { ...at, number: known } });
      if (isOwn(value) && toMergeRequest(value, baseUrl).state === 'open') return toMergeRequest(value, baseUrl);
      // Anyone may open many from a branch of this name in a fork.
      const { value: about } = await client.call('project', { params: at });
      const id = ProjectIdShape.safeParse(about).data?.id;
      const query = { source_branch: branch, state: 'all', order_by: 'created_at', sort: 'desc', per_page: 100 };
      const asked = { ...query, ...defined({ source_project_id: id }) };
      for await (const page of client.pages('pulls', { params: at, query: asked })) {
        const own = page?.find(isOwn);
        if (own !== undefined) return toMergeRequest(own, baseUrl);
      }
      return undefined;
    },
    async createPull({ branch, base, ...content }) {
      const body = { source_branch: branch, target_branch: base, ...contentOf(content) };
      const created = await client.call('create', { params: at, body });
      assertFound(created, baseUrl);
      return toMergeRequest(created.value, baseUrl);
    },
    async updatePull(number, { base, ...content }) {
      const body = { ...contentOf(content), ...defined({ target_branch: base }) };
      assertFound(await client.call('edit', { params: { ...at, number }, body }), baseUrl);
    },
    async setStatus(commit, { context, state, description }) {
      const body = { state: STATES[state], name: context, description };
      const setting = client.call('status', { params: { ...at, commit }, body });
      const set = await setting.catch((error: unknown) => {
        // GitLab refuses a status that the commit has already.
        if (error instanceof HaloError && /Cannot transition status/i.test(error.message)) return undefined;
        throw error;
      });
      if (set !== undefined) assertFound(set, baseUrl);
    },
  };
}

/** The title says whether it is a draft. */
function contentOf({ title, body, isDraft }: PullContent) {
  return { title: isDraft ? `Draft: ${title}` : title, description: body };
}

const ProjectIdShape = z.looseObject({ id: z.int().positive() });

/** Those of forks have the same branch, perhaps, but another project. */
function isFrom(value: unknown, branch: string): boolean {
  const { data } = PullShape.safeParse(value);
  return (
    data !== undefined && data.source_project_id === data.target_project_id && (data.source_branch ?? branch) === branch
  );
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

function toMergeRequest(value: unknown, baseUrl: string): Pull {
  const { data } = PullShape.safeParse(value);
  if (data === undefined) throw malformed(baseUrl);
  const state = data.state === 'merged' ? 'merged' : data.state === 'opened' ? 'open' : 'closed';
  return {
    ...{ number: data.iid, url: data.web_url, state, isDraft: data.draft === true, labels: data.labels ?? [] },
    ...{ base: data.target_branch, ...defined({ head: data.sha ?? undefined }) },
  };
}

const REVIEW_ROUTES = {
  pull: 'GET /projects/{id}/merge_requests/{number}',
  reviewers: 'GET /projects/{id}/merge_requests/{number}/reviewers',
  discussions: 'GET /projects/{id}/merge_requests/{number}/discussions',
  member: 'GET /projects/{id}/members/all/{user}',
  statuses: 'GET /projects/{id}/repository/commits/{commit}/statuses',
} as const;

const PAGE = { per_page: 100 };
/** The role Developer, which may push. */
const DEVELOPER = 30;

/**
 * Opens the reviews and checks of merge requests on GitLab. `project`: its path. A review of GitLab has no address: it is
 * what a reviewer who requests changes has written in threads that are not resolved, and the newest of these comments
 * identifies it.
 */
export function openGitLabReviews(project: string, { token, ...access }: TokenAccess): PullReviews {
  const { baseUrl } = access;
  const parse = <T>(shape: z.ZodType<T>, value: unknown) => readShape(shape, value, baseUrl);
  const client = new ForgeClient(REVIEW_ROUTES, { ...access, headers: gitlabHeaders(token) });
  const at = { id: project };
  const askMayPush = async (user: number) => {
    const { value } = await client.call('member', { params: { ...at, user } });
    return (MemberShape.safeParse(value).data?.access_level ?? 0) >= DEVELOPER;
  };
  const readPull: PullReviews['readPull'] = async (number) => {
    const { value, isMissing } = await client.call('pull', { params: { ...at, number } });
    return isMissing ? undefined : toMergeRequest(value, baseUrl);
  };
  return {
    readPull,
    async listReviews(number) {
      const mayPush = memoizeAsync(askMayPush);
      const params = { ...at, number };
      const reviewers = (await client.list('reviewers', { params, query: PAGE })).map((each) =>
        parse(ReviewerShape, each),
      );
      const asking = reviewers.filter(({ state }) => state === 'requested_changes');
      const pull = asking.length === 0 ? undefined : await readPull(number);
      if (pull === undefined) return [];
      const threads = await client.list('discussions', { params, query: PAGE });
      // The first note of each thread: replies and plain comments ask for nothing new.
      const notes = threads.flatMap((each) => parse(ThreadShape, each).notes.slice(0, 1));
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
      const listed = await client.listFirst('statuses', { params: { ...at, commit }, query: PAGE });
      const others = listed.map((each) => parse(StatusShape, each)).filter(({ name }) => !isOwnStatus(name));
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
