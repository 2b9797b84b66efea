import { z } from 'zod';
import { ForgeClient, malformed, notFound, type ForgeAccess } from '../forge-client.ts';
import { findComment, isReopenedSince } from '../search-pages.ts';
import type { Forge, Issue } from '../forge.ts';
import { defined } from '../../lib/guards.ts';

const ROUTES = {
  project: 'GET /repos/{owner}/{repo}',
  issues: 'GET /repos/{owner}/{repo}/issues',
  issue: 'GET /repos/{owner}/{repo}/issues/{number}',
  edit: 'PATCH /repos/{owner}/{repo}/issues/{number}',
  comments: 'GET /repos/{owner}/{repo}/issues/{number}/comments',
  events: 'GET /repos/{owner}/{repo}/issues/{number}/events',
  comment: 'POST /repos/{owner}/{repo}/issues/{number}/comments',
  label: 'POST /repos/{owner}/{repo}/issues/{number}/labels',
  unlabel: 'DELETE /repos/{owner}/{repo}/issues/{number}/labels/{label}',
  compare: 'GET /repos/{owner}/{repo}/compare/{range}',
} as const;

export const GITHUB_URL = 'https://api.github.com';

/** Opens the issues of a repository on GitHub or GitHub Enterprise. `project`: `owner/repo`. */
export function openGitHub(project: string, { token, ...access }: TokenAccess): Forge {
  const { baseUrl } = access;
  const [owner = '', repo = ''] = project.split('/');
  const headers = githubHeaders(token);
  const client = new ForgeClient(ROUTES, { ...access, headers });
  const at = (number?: number) => ({ owner, repo, ...defined({ number }) });
  return {
    async listIssues(label) {
      const query = { state: 'open', labels: label, per_page: 100, sort: 'created', direction: 'asc' };
      const found = await client.list('issues', { params: at(), query });
      return found.flatMap((each) => toIssue(each, baseUrl) ?? []);
    },
    async findIssue(number) {
      const { value, isMissing } = await client.call('issue', { params: at(number), mayMove: true });
      if (!isMissing) return toIssue(value, baseUrl);
      // A project that was renamed, or that the token may not read any more, says nothing about its issues.
      assertFound(await client.call('project', { params: at() }), baseUrl);
      return undefined;
    },
    hasComment: (number, text, since) =>
      findComment(client.pages('comments', { params: at(number), query: { since, per_page: 100 } }), text),
    wasReopened: (number, since) =>
      isReopenedSince(client.pages('events', { params: at(number), query: { per_page: 100 } }), since),
    async comment(number, text) {
      assertFound(await client.call('comment', { params: at(number), body: { body: text } }), baseUrl);
    },
    async addLabel(number, label) {
      assertFound(await client.call('label', { params: at(number), body: { labels: [label] } }), baseUrl);
    },
    async removeLabel(number, label) {
      await client.call('unlabel', { params: { ...at(number), label } });
    },
    async closeIssue(number) {
      assertFound(await client.call('edit', { params: at(number), body: { state: 'closed' } }), baseUrl);
    },
    async hasLanded(commit) {
      const about = await client.call('project', { params: at() });
      const branch = ProjectShape.safeParse(about.value).data?.default_branch;
      if (branch === undefined) throw notFound(baseUrl);
      // Only the first page has the changed files, which nothing needs.
      const query = { per_page: 1, page: 2 };
      const { value } = await client.call('compare', { params: { ...at(), range: `${commit}...${branch}` }, query });
      return ['ahead', 'identical'].includes(CompareShape.safeParse(value).data?.status ?? '');
    },
  };
}

export function githubHeaders(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}`, 'x-github-api-version': '2022-11-28' };
}

/** How an adapter reaches its API. */
export interface TokenAccess extends Omit<ForgeAccess, 'headers'> {
  token: string;
}

export function assertFound({ isMissing }: { isMissing: boolean }, baseUrl: string): void {
  if (isMissing) throw notFound(baseUrl);
}

const IssueShape = z.looseObject({
  number: z.int().positive(),
  title: z.string(),
  body: z.string().nullish(),
  state: z.string(),
  labels: z.array(z.union([z.string(), z.looseObject({ name: z.string() })])).nullish(),
  pull_request: z.unknown().optional(),
});
export const ProjectShape = z.looseObject({ default_branch: z.string() });
const CompareShape = z.looseObject({ status: z.string() });

/** Undefined: it is a pull request. Gitea has the same form. */
export function toIssue(value: unknown, baseUrl: string): Issue | undefined {
  const { data } = IssueShape.safeParse(value);
  if (data === undefined) throw malformed(baseUrl);
  if (data.pull_request !== undefined && data.pull_request !== null) return undefined;
  const { number, title, body, state, labels } = data;
  const names = (labels ?? []).map((label) => (typeof label === 'string' ? label : label.name));
  return { number, title, body: body ?? '', labels: names, isClosed: state !== 'open' };
}
