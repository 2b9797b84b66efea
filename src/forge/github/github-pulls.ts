import { z } from 'zod';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { defined } from '../../lib/guards.ts';
import { ForgeClient, malformed } from '../forge-client.ts';
import type { Pull, PullRequests } from '../pull-requests.ts';
import { assertFound, githubHeaders, type TokenAccess } from './github.ts';

const ROUTES = {
  pulls: 'GET /repos/{owner}/{repo}/pulls',
  create: 'POST /repos/{owner}/{repo}/pulls',
  edit: 'PATCH /repos/{owner}/{repo}/pulls/{number}',
  status: 'POST /repos/{owner}/{repo}/statuses/{commit}',
} as const;

/** Only GraphQL changes whether a pull request is a draft. */
const GRAPHQL_ROUTES = { query: 'POST /graphql' } as const;
const READY = 'mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }';
const DRAFT = 'mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { clientMutationId } }';

/** Opens the pull requests of a repository on GitHub or GitHub Enterprise. `project`: `owner/repo`. */
export function openGitHubPulls(project: string, { token, ...access }: TokenAccess): PullRequests {
  const { baseUrl } = access;
  const [owner = '', repo = ''] = project.split('/');
  const headers = githubHeaders(token);
  const client = new ForgeClient(ROUTES, { ...access, headers });
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
const PullShape = z.looseObject({
  number: z.int().positive(),
  node_id: z.string().optional(),
  html_url: z.string(),
  state: z.string(),
  draft: z.boolean().nullish(),
  merged_at: z.string().nullish(),
  merged: z.boolean().nullish(),
  labels: z.array(z.looseObject({ name: z.string() })).nullish(),
  base: z.looseObject({ ref: z.string() }),
  head: z.looseObject({ sha: z.string().nullish() }).nullish(),
});

/** Gitea has the same form. */
export function toPull(value: unknown, baseUrl: string): Pull {
  const { data } = PullShape.safeParse(value);
  if (data === undefined) throw malformed(baseUrl);
  const isMerged = data.merged === true || typeof data.merged_at === 'string';
  const state = isMerged ? 'merged' : data.state === 'open' ? 'open' : 'closed';
  const labels = (data.labels ?? []).map(({ name }) => name);
  return {
    ...{ number: data.number, url: data.html_url, state, isDraft: data.draft === true, labels, base: data.base.ref },
    ...defined({ head: data.head?.sha ?? undefined }),
  };
}
