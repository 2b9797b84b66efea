import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakePulls } from './fake-pulls.ts';
import { findGitHubFaults } from './github-api.ts';
import type { ForgeName } from '../../../src/core/forge-name.ts';

export interface FakeIssue {
  number: number;
  title: string;
  body: string | null;
  labels: string[];
  state: 'open' | 'closed';
  isPullRequest?: true;
  comments: string[];
  /** When its comments were written (ISO 8601); those that have none, now. */
  commentTimes?: string[];
  /** When it was closed and opened again (ISO 8601). */
  reopenedAt?: string;
}

/** An answer that the forge gives instead of its own. `before`: the request has no effect. */
export interface Fault {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** The connection ends without an answer: before the request has an effect, or after it. */
  drop?: 'before' | 'after';
  /** The answer begins, and never ends. */
  stall?: boolean;
  /** The forge works on the request after this. */
  wait?: () => Promise<void>;
}

/** A forge with real HTTP on this machine: state, pages, ETags, and the faults that a test asks for. */
export interface FakeForge {
  url: string;
  token: string;
  issues: Map<number, FakeIssue>;
  pulls: FakePulls;
  /** Commits on the default branch. */
  landed: Set<string>;
  /** What the token may do, where the forge says so. */
  scopes: string[];
  /** `GET /path?query status` of each request. */
  log: string[];
  /** How requests and answers differ from GitHub's description of its API; `close` throws if they do. */
  faults: string[];
  /** Called before each request; an answer replaces that of the forge. */
  fault: (request: string) => Fault | undefined;
  add(issue: Partial<FakeIssue> & { number: number }): FakeIssue;
  close(): Promise<void>;
}

export const FAKE_PROJECT = 'acme/shop';
const MAX_PAGE = 100;

export async function openFakeForge(kind: ForgeName): Promise<FakeForge> {
  const issues = new Map<number, FakeIssue>();
  const labels = new Map<string, number>();
  const forge: FakeForge = {
    url: '',
    token: `token-of-${kind}-0123456789abcdef`,
    issues,
    pulls: new FakePulls(kind, () => forge.url),
    landed: new Set(),
    scopes: ['repo', 'read_api', 'read:issue'],
    log: [],
    faults: [],
    fault: () => undefined,
    add: ({ number, ...more }) => {
      const issue: FakeIssue = {
        number,
        title: `Issue ${number}`,
        body: '',
        labels: ['halo'],
        state: 'open',
        comments: [],
        ...more,
      };
      issues.set(number, issue);
      return issue;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      if (forge.faults.length > 0) throw new Error(`Not as GitHub describes it:\n${forge.faults.join('\n')}`);
    },
  };
  const api = { forge, issues, labels };
  const server = createServer(
    (request, response) => void serve(request, response).catch((error: unknown) => response.destroy(error as Error)),
  );
  async function serve(request: IncomingMessage, response: ServerResponse) {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const name = `${request.method} ${request.url}`;
    const fault = forge.fault(name);
    const send = (status: number, body: unknown, headers: Record<string, string> = {}) => {
      const faults = kind === 'github' ? faultsOf(status, body) : [];
      // A status that halo does not repeat.
      if (faults.length > 0) [status, body] = [599, { message: faults.join('\n') }];
      forge.faults.push(...faults);
      forge.log.push(`${name} ${status}`);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body));
    };
    const faultsOf = (status: number, body: unknown): string[] => {
      const sent: unknown = text === '' ? undefined : JSON.parse(text);
      const exchange = { method: request.method ?? '', url: request.url ?? '', sent, status, body };
      return fault?.status === undefined ? findGitHubFaults(exchange, { isPartial: true }) : [];
    };
    await fault?.wait?.();
    if (fault?.drop === 'before') return request.socket.destroy();
    if (fault?.stall === true) return void response.writeHead(fault.status ?? 200).write('{"number"');
    if (fault?.status !== undefined) return send(fault.status, fault.body ?? { message: 'fault' }, fault.headers);
    if (tokenOf(kind, request) !== forge.token) return send(401, { message: 'Bad credentials' });
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    const url = new URL(request.url ?? '', forge.url);
    const [, ...path] = url.pathname.split('/').map(decodeURIComponent);
    if (url.pathname === '/rate_limit' && kind === 'github')
      return send(200, { resources: {} }, { 'x-oauth-scopes': forge.scopes.join(', ') });
    if (url.pathname === '/personal_access_tokens/self' && kind === 'gitlab')
      return send(200, { active: true, scopes: forge.scopes });
    if (url.pathname === '/repos/issues/search' && kind === 'gitea')
      return forge.scopes.includes('read:issue') ? send(200, []) : send(403, { message: 'token does not have scope' });
    if (url.pathname === '/graphql' && kind === 'github') return send(200, forge.pulls.graphql(body));
    const asked = { method: request.method ?? '', path, query: url.searchParams, body };
    const behind = kind === 'gitlab' ? path.slice(2) : path.slice(3);
    const project = kind === 'gitlab' ? path[1] : `${path[1]}/${path[2]}`;
    const ofPulls = project === FAKE_PROJECT ? forge.pulls.answer({ ...asked, path: behind }, body) : undefined;
    const refusal = (ofPulls as { $status?: number } | undefined)?.$status;
    const found = ofPulls ?? answerOf[kind](api, asked);
    if (fault?.drop === 'after') return request.socket.destroy();
    if (refusal !== undefined) return send(refusal, { message: (ofPulls as { message: string }).message });
    if (found === undefined) return send(404, { message: 'Not Found' });
    // GitHub and Gitea have the lists of checks within an object.
    const wrapped = ['check_runs', 'statuses'].find((key) => Array.isArray((found as Record<string, unknown>)[key]));
    const list: unknown = wrapped === undefined ? found : (found as Record<string, unknown>)[wrapped];
    if (!Array.isArray(list) || request.method !== 'GET') return tagged(found);
    const size = Math.min(
      MAX_PAGE,
      Number(url.searchParams.get('per_page') ?? url.searchParams.get('limit') ?? list.length) || 1,
    );
    const page = Number(url.searchParams.get('page') ?? 1);
    const hasNext = list.length > page * size;
    const headers: Record<string, string> =
      kind === 'gitlab'
        ? { 'x-next-page': hasNext ? String(page + 1) : '' }
        : hasNext
          ? { link: `<http://attacker.example/steal?page=${page + 1}>; rel="next"` }
          : {};
    const shown = list.slice((page - 1) * size, page * size) as unknown[];
    return tagged(wrapped === undefined ? shown : { [wrapped]: shown }, headers);

    function tagged(value: unknown, headers: Record<string, string> = {}) {
      const etag = `"${createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 20)}"`;
      if (request.method === 'GET' && request.headers['if-none-match'] === etag) return send(304, undefined, { etag });
      // GitHub and Gitea answer with the labels of the issue, which they do not create.
      const isCreated = request.method === 'POST' && !(behind[0] === 'issues' && behind[2] === 'labels');
      send(isCreated ? 201 : 200, value, { ...headers, etag });
    }
  }
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  forge.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return forge;
}

function tokenOf(kind: ForgeName, { headers }: IncomingMessage): string | undefined {
  if (kind === 'gitlab') return headers['private-token'] as string | undefined;
  return new RegExp(`^${kind === 'github' ? 'Bearer' : 'token'} (.+)$`).exec(headers.authorization ?? '')?.[1];
}

interface Api {
  forge: FakeForge;
  issues: Map<number, FakeIssue>;
  /** Ids of the labels, by name. */
  labels: Map<string, number>;
}
interface Asked {
  method: string;
  path: string[];
  query: URLSearchParams;
  body: Record<string, unknown>;
}

function commentsOf({ comments, commentTimes = [] }: FakeIssue) {
  const now = new Date().toISOString();
  return comments.map((body, index) => ({ id: index + 1, body, created_at: commentTimes[index] ?? now }));
}

/** In the words of each forge. */
const EVENTS = {
  github: [{ event: 'closed' }, { event: 'reopened' }],
  gitlab: [{ state: 'closed' }, { state: 'reopened' }],
  gitea: [{ type: 'close' }, { type: 'reopen' }],
} as const;

function eventsOf(kind: ForgeName, { reopenedAt: at }: FakeIssue) {
  const [closed, reopened] = EVENTS[kind];
  return at === undefined
    ? []
    : [
        { id: 1, ...closed, created_at: at },
        { id: 2, ...reopened, created_at: at },
      ];
}

function idOf(labels: Map<string, number>, name: string): number {
  if (!labels.has(name)) labels.set(name, labels.size + 1);
  return labels.get(name)!;
}

/** GitHub and Gitea: `/repos/{owner}/{repo}/…`. */
function answerLikeGitHub(kind: 'github' | 'gitea', { forge, issues, labels }: Api, asked: Asked): unknown {
  const { method, path, query, body } = asked;
  const [repos, owner, repo, what, number, part, name] = path;
  if (repos !== 'repos' || `${owner}/${repo}` !== FAKE_PROJECT) return undefined;
  const shape = (issue: FakeIssue) => ({
    id: issue.number + 1_000_000,
    number: issue.number,
    title: issue.title,
    body: issue.body,
    state: issue.state,
    user: { login: 'octocat', id: 1 },
    labels: issue.labels.map((each) => ({ id: idOf(labels, each), name: each, color: 'ededed' })),
    ...(issue.isPullRequest ? { pull_request: { url: 'x' } } : kind === 'gitea' ? { pull_request: null } : {}),
  });
  if (what === undefined) return { id: 1, full_name: FAKE_PROJECT, default_branch: 'main' };
  if (what === 'compare') {
    const [a = '', b = ''] = (number ?? '').split('...');
    if (kind === 'github') return { status: forge.landed.has(a) && b === 'main' ? 'ahead' : 'diverged', commits: [] };
    return { total_commits: forge.landed.has(b) && a === 'main' ? 0 : 1, commits: [] };
  }
  if (what === 'labels' && kind === 'gitea') {
    if (method === 'POST') return { id: idOf(labels, String(body['name'])), name: body['name'] };
    return [...labels].map(([each, id]) => ({ id, name: each }));
  }
  if (what !== 'issues') return undefined;
  if (number === undefined) {
    const label = query.get('labels') ?? '';
    return [...issues.values()]
      .filter(
        ({ labels: own, state }) =>
          own.includes(label) && (query.get('state') === 'all' || state === query.get('state')),
      )
      .filter(({ isPullRequest }) => !(kind === 'gitea' && query.get('type') === 'issues' && isPullRequest))
      .map(shape);
  }
  const issue = issues.get(Number(number));
  if (issue === undefined) return undefined;
  if (part === undefined) {
    if (method === 'PATCH' && (body['state'] === 'closed' || body['state'] === 'open')) issue.state = body['state'];
    return shape(issue);
  }
  if (part === 'comments') {
    if (method === 'POST') return { id: issue.comments.push(String(body['body'])), body: body['body'] };
    const since = query.get('since') ?? '';
    return commentsOf(issue).filter(({ created_at }) => created_at >= since);
  }
  if (part === (kind === 'github' ? 'events' : 'timeline')) return eventsOf(kind, issue);
  if (part !== 'labels') return undefined;
  if (method === 'POST') {
    const added = (body['labels'] as (string | number)[]).map((each) =>
      typeof each === 'string' ? each : [...labels].find(([, id]) => id === each)![0],
    );
    issue.labels = [...new Set([...issue.labels, ...added])];
    return issue.labels.map((each) => ({ id: idOf(labels, each), name: each }));
  }
  const gone = kind === 'gitea' ? [...labels].find(([, id]) => id === Number(name))?.[0] : name;
  if (gone === undefined || !issue.labels.includes(gone)) return undefined;
  issue.labels = issue.labels.filter((each) => each !== gone);
  return [];
}

/** GitLab: `/projects/{id}/…`. */
function answerLikeGitLab({ forge, issues }: Api, { method, path, query, body }: Asked): unknown {
  const [projects, id, what, number, part, last] = path;
  if (projects !== 'projects' || id !== FAKE_PROJECT) return undefined;
  if (what === undefined) return { id: 7, path_with_namespace: FAKE_PROJECT, default_branch: 'main' };
  if (what === 'repository' && last === 'refs')
    return forge.landed.has(part ?? '') ? [{ type: 'branch', name: 'main' }] : undefined;
  if (what !== 'issues') return undefined;
  const shape = ({ number: iid, title, body: description, labels, state }: FakeIssue) => ({
    id: iid + 1_000_000,
    iid,
    project_id: 7,
    title,
    description,
    labels,
    state: state === 'open' ? 'opened' : 'closed',
  });
  const own = [...issues.values()].filter(({ isPullRequest }) => isPullRequest === undefined);
  if (number === undefined)
    return own.filter(({ labels, state }) => labels.includes(query.get('labels') ?? '') && state === 'open').map(shape);
  const issue = own.find((each) => each.number === Number(number));
  if (issue === undefined) return undefined;
  if (part === 'notes') {
    if (method === 'POST') return { id: issue.comments.push(String(body['body'])), body: body['body'] };
    return commentsOf(issue).reverse();
  }
  if (part === 'resource_state_events') return eventsOf('gitlab', issue);
  if (method === 'PUT') {
    if (typeof body['add_labels'] === 'string') issue.labels = [...new Set([...issue.labels, body['add_labels']])];
    if (typeof body['remove_labels'] === 'string')
      issue.labels = issue.labels.filter((each) => each !== body['remove_labels']);
    if (body['state_event'] === 'close') issue.state = 'closed';
  }
  return shape(issue);
}

const answerOf: Record<ForgeName, (api: Api, asked: Asked) => unknown> = {
  github: (api, asked) => answerLikeGitHub('github', api, asked),
  gitea: (api, asked) => answerLikeGitHub('gitea', api, asked),
  gitlab: answerLikeGitLab,
};
