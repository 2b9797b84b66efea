import type { ForgeName } from '../../../src/core/forge-name.ts';

/** A pull request as the fake forge keeps it. */
export interface FakePull {
  number: number;
  branch: string;
  base: string;
  title: string;
  body: string;
  state: 'open' | 'closed' | 'merged';
  isDraft: boolean;
  /** It comes from a fork. */
  isForeign?: true;
  labels?: string[];
}

/** A review as the fake forge keeps it. On GitLab, `approve` and `comment` leave the reviewer without a request. */
export interface FakeReview {
  id: number;
  pull: number;
  author: string;
  says: 'approve' | 'request' | 'comment';
  text: string;
  commit?: string;
  comments: { path: string; text: string; line?: number; isOld?: true; by?: string }[];
}

/** A job or status of someone else. */
export interface FakeCheck {
  commit: string;
  name: string;
  state: 'pending' | 'success' | 'failure';
  text: string;
}

/** The pull requests and statuses of the project of a fake forge. */
export class FakePulls {
  readonly all: FakePull[] = [];
  /** The statuses of each commit, in the order in which they were set. */
  readonly statuses: { commit: string; context: string; state: string }[] = [];
  readonly reviews: FakeReview[] = [];
  readonly checks: FakeCheck[] = [];
  /** Who may push. */
  readonly writers = new Set(['alice', 'bob']);
  /** The newest commit of a branch. */
  headOf: (branch: string) => string | undefined = () => undefined;
  /** The plan has no drafts. */
  noDrafts = false;
  readonly #kind: ForgeName;
  readonly #url: () => string;

  constructor(kind: ForgeName, url: () => string) {
    this.#kind = kind;
    this.#url = url;
  }

  add(pull: Partial<FakePull> & { branch: string }): FakePull {
    const number = this.all.length + 1;
    const added: FakePull = { number, base: 'main', title: '', body: '', state: 'open', isDraft: false, ...pull };
    this.all.push(added);
    return added;
  }

  review(review: Partial<FakeReview> & { author: string }): FakeReview {
    const id = this.reviews.length + 80;
    const added: FakeReview = { id, pull: 1, says: 'request', text: '', comments: [], ...review };
    this.reviews.push(added);
    return added;
  }

  /** `path`: behind the project. Undefined: there is no such route. A number is the status of an error. */
  answer(
    { method, path, query }: { method: string; path: string[]; query: URLSearchParams },
    body: Record<string, unknown>,
  ): unknown {
    const [what, id, part, name] = path;
    if (what === 'statuses') return this.#setStatus(id ?? '', body);
    if (what === 'collaborators') return { permission: this.writers.has(id ?? '') ? 'write' : 'read' };
    if (what === 'members') return { access_level: this.writers.has(this.#userName(Number(part))) ? 30 : 20 };
    if (what === 'commits') return this.#githubChecks(id ?? '', part ?? '');
    if (what === 'repository' && name === 'statuses') return this.#checksAt(part ?? '').map(toGitLabStatus);
    if (what !== (this.#kind === 'gitlab' ? 'merge_requests' : 'pulls')) return undefined;
    if (id === undefined) return method === 'POST' ? this.#create(body) : this.#list(query);
    const pull = this.all.find(({ number }) => number === Number(id));
    if (pull === undefined) return undefined;
    if (method !== 'GET') this.#edit(pull, body);
    const reviews = this.reviews.filter((review) => review.pull === pull.number);
    switch (part) {
      case 'reviews': {
        const one = reviews.find((review) => String(review.id) === name);
        return one === undefined
          ? reviews.map((each) => this.#reviewShape(each))
          : one.comments.map((each) => toGiteaComment(one, each));
      }
      case 'comments':
        return reviews.flatMap((review) => review.comments.map((each) => toGitHubComment(review, each)));
      case 'reviewers':
        return reviews.map(({ author, says }) => ({
          user: { id: this.#userId(author), username: author },
          state: says === 'request' ? 'requested_changes' : 'reviewed',
        }));
      case 'discussions':
        return reviews.flatMap((review) => this.#threads(review));
      default:
        return this.#shape(pull);
    }
  }

  #userId(name: string): number {
    return [...new Set(this.reviews.map(({ author }) => author))].indexOf(name) + 1;
  }

  #userName(id: number): string {
    return [...new Set(this.reviews.map(({ author }) => author))][id - 1] ?? '';
  }

  #reviewShape({ id, pull, author, says, text, commit }: FakeReview): unknown {
    const states =
      this.#kind === 'github'
        ? { approve: 'APPROVED', request: 'CHANGES_REQUESTED', comment: 'COMMENTED' }
        : { approve: 'APPROVED', request: 'REQUEST_CHANGES', comment: 'COMMENT' };
    const page = `${this.#url()}/acme/shop/pulls/${pull}#pullrequestreview-${id}`;
    return { id, html_url: page, state: states[says], body: text, user: { login: author }, commit_id: commit ?? null };
  }

  /** A thread per comment, and one with the text. */
  #threads({ id, author, text, commit, comments }: FakeReview): unknown[] {
    const by = { id: this.#userId(author), username: author };
    const texts =
      text === '' ? [] : [{ notes: [{ id: id * 100, body: text, author: by, resolvable: true, resolved: false }] }];
    const located = comments.map(({ path, text: body, line, isOld }, index) => {
      const lines = isOld ? { old_line: line, new_line: null } : { old_line: null, new_line: line ?? null };
      const position = { head_sha: commit ?? null, old_path: path, new_path: path, ...lines };
      return { notes: [{ id: id * 100 + index + 1, body, author: by, resolvable: true, resolved: false, position }] };
    });
    return [...texts, ...located];
  }

  #checksAt(commit: string): FakeCheck[] {
    const own = this.statuses.filter((status) => status.commit === commit);
    const ours = own.map(({ context, state }) => ({ commit, name: context, state: state as 'pending', text: '' }));
    return [...ours, ...this.checks.filter((check) => check.commit === commit)];
  }

  /** GitHub shows jobs as check runs, and what halo set as statuses; Gitea has statuses alone. */
  #githubChecks(commit: string, part: string): unknown {
    const all = this.#checksAt(commit);
    if (part === 'check-runs')
      return {
        check_runs: all
          .filter(({ name }) => !name.startsWith('halo/'))
          .map(({ name, state, text }) => ({
            name,
            status: state === 'pending' ? 'in_progress' : 'completed',
            conclusion: state === 'pending' ? null : state,
            html_url: `${this.#url()}/jobs/${name}`,
            output: { title: null, summary: text },
          })),
      };
    const shown = this.#kind === 'gitea' ? all : all.filter(({ name }) => name.startsWith('halo/'));
    return {
      statuses: shown.map(({ name, state, text }) => ({
        context: name,
        description: text,
        ...(this.#kind === 'gitea' ? { status: state } : { state }),
      })),
    };
  }

  /** GitHub changes drafts only here. */
  graphql({ query, variables }: { query?: string; variables?: { id?: string } }): unknown {
    const pull = this.all.find(({ number }) => `PR_${number}` === variables?.id);
    if (pull !== undefined) pull.isDraft = query?.includes('convertPullRequestToDraft') === true;
    return { data: {} };
  }

  #setStatus(commit: string, { context, name, state }: Record<string, unknown>): unknown {
    const status = { commit, context: String(context ?? name), state: String(state) };
    const isSame = (each: typeof status) => each.commit === commit && each.context === status.context;
    if (this.#kind === 'gitlab' && this.statuses.findLast(isSame)?.state === status.state)
      return { $status: 400, message: 'Cannot transition status via :enqueue from :pending' };
    this.statuses.push(status);
    return { context: status.context, state: status.state };
  }

  #create(body: Record<string, unknown>): unknown {
    const branch = String(body['head'] ?? body['source_branch']);
    if (body['draft'] === true && this.noDrafts)
      return { $status: 422, message: 'Draft pull requests are not supported in this repository.' };
    if (this.all.some((pull) => pull.branch === branch && pull.state === 'open' && !pull.isForeign))
      return { $status: this.#kind === 'github' ? 422 : 409, message: `a pull request already exists for ${branch}` };
    const pull = this.add({
      branch,
      base: String(body['base'] ?? body['target_branch']),
      isDraft: body['draft'] === true,
    });
    this.#edit(pull, body);
    return this.#shape(pull);
  }

  #edit(pull: FakePull, body: Record<string, unknown>): void {
    const base = body['base'] ?? body['target_branch'];
    if (typeof base === 'string') pull.base = base;
    pull.title = String(body['title']);
    pull.body = String(body['body'] ?? body['description']);
    if (this.#kind !== 'github') pull.isDraft = /^(?:Draft|WIP): /.test(pull.title);
  }

  #list(query: URLSearchParams): unknown {
    const wanted = query.get('head')?.replace(/^acme:/, '') ?? query.get('source_branch');
    return this.all
      .filter(
        ({ branch, isForeign }) => wanted === null || (branch === wanted && !(this.#kind === 'github' && isForeign)),
      )
      .map((pull) => this.#shape(pull))
      .reverse();
  }

  #shape({ number, branch, base, title, state, isDraft, isForeign, labels = [] }: FakePull): unknown {
    const sha = this.headOf(branch);
    const page = `${this.#url()}/acme/shop/pulls/${number}`;
    if (this.#kind === 'gitlab') {
      const states = { open: 'opened', closed: 'closed', merged: 'merged' };
      const projects = { source_project_id: isForeign ? 8 : 7, target_project_id: 7 };
      return {
        iid: number,
        web_url: page,
        state: states[state],
        draft: isDraft,
        title,
        labels,
        target_branch: base,
        sha,
        ...projects,
      };
    }
    const isMerged = state === 'merged';
    const full_name = isForeign ? 'mallory/shop' : 'acme/shop';
    return {
      number,
      node_id: `PR_${number}`,
      html_url: page,
      state: state === 'open' ? 'open' : 'closed',
      draft: isDraft,
      title,
      labels: labels.map((name) => ({ name })),
      base: { ref: base },
      head: { ref: branch, sha, repo: { full_name } },
      ...(this.#kind === 'github' ? { merged_at: isMerged ? '2026-01-01T00:00:00Z' : null } : { merged: isMerged }),
    };
  }
}

type FakeComment = FakeReview['comments'][number];

function toGiteaComment({ author }: FakeReview, { path, text, line = 0, isOld, by = author }: FakeComment): unknown {
  return { user: { login: by }, path, body: text, position: isOld ? 0 : line, original_position: isOld ? line : 0 };
}

function toGitHubComment(
  { id, commit, author }: FakeReview,
  { path, text, line, isOld, by = author }: FakeComment,
): unknown {
  const lines = { ...(line !== undefined && { original_line: line }), side: isOld ? 'LEFT' : 'RIGHT' };
  return {
    pull_request_review_id: id,
    user: { login: by },
    path,
    body: text,
    ...lines,
    ...(commit !== undefined && { original_commit_id: commit }),
  };
}

function toGitLabStatus({ name, state, text }: FakeCheck): unknown {
  const status = (state as string) === 'failure' ? 'failed' : state;
  return { name, status, description: text, target_url: null, allow_failure: false };
}
