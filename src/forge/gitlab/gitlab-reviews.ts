import { z } from 'zod';
import type { PullReview, ReviewComment } from '../../core/pulls/pull-feedback.ts';
import { memoizeAsync } from '../../lib/async.ts';
import { defined } from '../../lib/guards.ts';
import { ForgeClient, readShape } from '../forge-client.ts';
import type { TokenAccess } from '../github/github.ts';
import { isOwnStatus, type PullReviews } from '../pull-requests.ts';
import { toMergeRequest } from './gitlab-pulls.ts';
import { gitlabHeaders } from './gitlab.ts';

const ROUTES = {
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
  const client = new ForgeClient(ROUTES, { ...access, headers: gitlabHeaders(token) });
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
