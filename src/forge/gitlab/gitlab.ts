import { z } from 'zod';
import { ForgeClient, malformed, notFound } from '../forge-client.ts';
import { findComment, isReopenedSince } from '../search-pages.ts';
import type { Forge, Issue } from '../forge.ts';
import { assertFound, ProjectShape, type TokenAccess } from '../github/github.ts';
import { defined } from '../../lib/guards.ts';

const ROUTES = {
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
  const client = new ForgeClient(ROUTES, { ...access, headers });
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
