import { z } from 'zod';
import { ForgeClient, notFound } from '../forge-client.ts';
import { findComment, isReopenedSince } from '../search-pages.ts';
import type { Forge } from '../forge.ts';
import { assertFound, ProjectShape, toIssue, type TokenAccess } from '../github/github.ts';
import { defined } from '../../lib/guards.ts';

const ROUTES = {
  project: 'GET /repos/{owner}/{repo}',
  issues: 'GET /repos/{owner}/{repo}/issues',
  issue: 'GET /repos/{owner}/{repo}/issues/{number}',
  edit: 'PATCH /repos/{owner}/{repo}/issues/{number}',
  comments: 'GET /repos/{owner}/{repo}/issues/{number}/comments',
  timeline: 'GET /repos/{owner}/{repo}/issues/{number}/timeline',
  comment: 'POST /repos/{owner}/{repo}/issues/{number}/comments',
  labels: 'GET /repos/{owner}/{repo}/labels',
  createLabel: 'POST /repos/{owner}/{repo}/labels',
  label: 'POST /repos/{owner}/{repo}/issues/{number}/labels',
  unlabel: 'DELETE /repos/{owner}/{repo}/issues/{number}/labels/{label}',
  compare: 'GET /repos/{owner}/{repo}/compare/{range}',
} as const;

const LABEL_COLOR = '#6e7781';

/** Opens the issues of a repository on Gitea or Forgejo. `project`: `owner/repo`. */
export function openGitea(project: string, { token, ...access }: TokenAccess): Forge {
  const { baseUrl } = access;
  const [owner = '', repo = ''] = project.split('/');
  const headers = giteaHeaders(token);
  const client = new ForgeClient(ROUTES, { ...access, headers });
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
