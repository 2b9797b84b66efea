import { z } from 'zod';
import { HaloError } from '../../core/failure/errors.ts';
import { defined } from '../../lib/guards.ts';
import { ForgeClient, malformed } from '../forge-client.ts';
import { assertFound, type TokenAccess } from '../github/github.ts';
import type { Pull, PullContent, PullRequests } from '../pull-requests.ts';
import { gitlabHeaders } from './gitlab.ts';

const ROUTES = {
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
  const client = new ForgeClient(ROUTES, { ...access, headers: gitlabHeaders(token) });
  const at = { id: project };
  return {
    async findPull(branch, known) {
      const isOwn = (value: unknown) => isFrom(value, branch);
      const { value } = known === undefined ? {} : await client.call('pull', { params: { ...at, number: known } });
      if (isOwn(value) && toMergeRequest(value, baseUrl).state === 'open') return toMergeRequest(value, baseUrl);
      // Anyone may open many from a branch of this name in a fork.
      const { value: about } = await client.call('project', { params: at });
      const id = ProjectShape.safeParse(about).data?.id;
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

const ProjectShape = z.looseObject({ id: z.int().positive() });

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

export function toMergeRequest(value: unknown, baseUrl: string): Pull {
  const { data } = PullShape.safeParse(value);
  if (data === undefined) throw malformed(baseUrl);
  const state = data.state === 'merged' ? 'merged' : data.state === 'opened' ? 'open' : 'closed';
  return {
    ...{ number: data.iid, url: data.web_url, state, isDraft: data.draft === true, labels: data.labels ?? [] },
    ...{ base: data.target_branch, ...defined({ head: data.sha ?? undefined }) },
  };
}
