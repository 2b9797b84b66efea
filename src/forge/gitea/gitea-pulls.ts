import { z } from 'zod';
import { defined } from '../../lib/guards.ts';
import { ForgeClient } from '../forge-client.ts';
import { assertFound, type TokenAccess } from '../github/github.ts';
import { toPull } from '../github/github-pulls.ts';
import type { PullContent, PullRequests } from '../pull-requests.ts';
import { giteaHeaders } from './gitea.ts';

const ROUTES = {
  pulls: 'GET /repos/{owner}/{repo}/pulls',
  pull: 'GET /repos/{owner}/{repo}/pulls/{number}',
  create: 'POST /repos/{owner}/{repo}/pulls',
  edit: 'PATCH /repos/{owner}/{repo}/pulls/{number}',
  status: 'POST /repos/{owner}/{repo}/statuses/{commit}',
} as const;

/** Opens the pull requests of a repository on Gitea or Forgejo. `project`: `owner/repo`. */
export function openGiteaPulls(project: string, { token, ...access }: TokenAccess): PullRequests {
  const { baseUrl } = access;
  const [owner = '', repo = ''] = project.split('/');
  const client = new ForgeClient(ROUTES, { ...access, headers: giteaHeaders(token) });
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
