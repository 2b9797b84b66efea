import { assertConfirmed, landingChanges, secretsToConfirm } from '../../src/core/review/flags.ts';
import { factsOf, matches } from '../../src/core/listing/run-facts.ts';
import { buildPrompt } from '../../src/agents/prompt/build-prompt.ts';
import { planNext } from '../../src/core/run/plan.ts';
import { AccessLog } from '../../src/store/access/access-log.ts';
import { Users } from '../../src/api/access/users.ts';
import {
  listDeliveries,
  listEndpoints,
  retryEndpoint,
  testEndpoint,
} from '../../src/features/notifications/api/endpoints.ts';
import { tempDir } from './temp-dir.ts';
import type { RunState } from '../../src/core/run/state.ts';
import type { ControlResult, RunDecisionResult, StoryDecisionResult } from '../../src/core/run/control-result.ts';
import type { Submitted, SubmitRequest } from '../../src/api/operations/schemas.ts';
import type { IssuesRequest } from '../../src/features/issues/api/issues-request.ts';
import {
  ALL_OPERATIONS,
  type InputOf,
  type OperationMethods,
  type Operations,
  type ResultOf,
} from '../../src/api/operations.ts';
import { parsePrd } from '../../src/prd/parse-prd.ts';
import { HaloError } from '../../src/core/failure/errors.ts';
import { findLines } from '../../src/core/text/safe-text.ts';
import type { JournalEntry, JournalEvent } from '../../src/core/journal/events.ts';
import { foldRun } from '../../src/core/journal/fold-run.ts';

interface MemoryRun {
  events: JournalEvent[];
  raw: { story: string; line: string }[];
  waiting: Set<() => void>;
  artifacts: Map<string, Buffer>;
}

export interface MemoryOperations extends Operations {
  readonly submitted: SubmitRequest[];
  /** Submits of issues. */
  readonly issueRequests: IssuesRequest[];
  /** Settings that came with `retry`. */
  readonly amended: Partial<InputOf<'retry'>>[];
  /** PRDs that came with `resume`. */
  readonly replanned: SubmitRequest['prd'][];
  /** Adds a run with these events, one second apart from 2030 on; returns its id. */
  addRun(entries: JournalEntry[], raw?: MemoryRun['raw']): string;
  append(runId: string, entry: JournalEntry): void;
  /** Adds a file of an attempt. */
  addArtifact(runId: string, path: string, content: string): void;
  /** How many followers wait for events at this moment. */
  followers(runId: string): number;
  /** The next call of this operation gets this answer or error. It changes no run. */
  answerNext<K extends Answered>(name: K, answer: HaloError | ResultOf<K>): void;
}

type Answered = 'answer' | 'land' | 'requestPull' | 'cancel' | 'pause' | 'approve' | 'reject';

interface Said {
  by: string;
  story: string | undefined;
  attempt: number;
}

/**
 * Runs in memory, for tests of what commands print and pass on. Reads are folds of the events of the test; each command
 * appends its event and succeeds, unless the test prepared another answer: the rules are tested with the real operations.
 */
export function openMemory(): MemoryOperations {
  const runs = new Map<string, MemoryRun>();
  const submitted: SubmitRequest[] = [];
  const issueRequests: IssuesRequest[] = [];
  const replanned: SubmitRequest['prd'][] = [];
  const amended: Partial<InputOf<'retry'>>[] = [];
  const answers = new Map<Answered, unknown[]>();

  /** Resolves with the answer that the test prepared, or else with what `work` returns. */
  async function answer<T>(name: Answered, work: () => T): Promise<T> {
    await Promise.resolve();
    const [prepared, ...rest] = answers.get(name) ?? [];
    answers.set(name, rest);
    if (prepared instanceof Error) throw prepared;
    return (prepared as T | undefined) ?? work();
  }

  function find(prefix: string): MemoryRun {
    const found = [...runs].filter(([id]) => id.startsWith(prefix)).map(([, run]) => run);
    if (found.length === 1 && found[0] !== undefined) return found[0];
    throw new HaloError('RUN_NOT_FOUND', `No run matches "${prefix}".`, { hint: 'Run `halo ls` to list all runs.' });
  }

  function fileOf(runId: string, path: string): Buffer {
    const found = find(runId).artifacts.get(path);
    if (found === undefined) throw new HaloError('ARTIFACT_UNREADABLE', `The file ${path} does not exist.`);
    return found;
  }

  function logOf(runId: string, path: string): string[] {
    return fileOf(runId, path).toString().replace(/\n$/, '').split('\n');
  }

  function append(runId: string, entry: JournalEntry): void {
    const run = find(runId);
    const seq = run.events.length + 1;
    run.events.push({ v: 1, seq, at: new Date(Date.UTC(2030, 0, 1, 0, 0, seq - 1)).toISOString(), ...entry });
    for (const wake of run.waiting) wake();
  }

  function decide(
    runId: string,
    storyId: string,
    entryOf: (held: { story: string; attempt: number; commit: string }) => JournalEntry,
  ): StoryDecisionResult {
    const story = stateOf(find(runId)).stories.find(({ id }) => id === storyId);
    if (story?.held === undefined) throw new Error(`the test holds no commit of ${storyId}`);
    const { commit } = story.held;
    const entry = entryOf({ story: storyId, attempt: story.attempts, commit });
    append(runId, entry);
    const goesOn = planNext(stateOf(find(runId))).kind === 'attempts';
    return { story: storyId, commit, changed: true, landed: entry.type === 'story.approved', goesOn };
  }

  function say(runId: string, story: string | undefined, entryOf: (who: Said) => JournalEntry): ControlResult {
    const state = stateOf(find(runId));
    const about = state.stories.find(({ id }) => id === story);
    if (story !== undefined && about === undefined) throw new HaloError('STORY_NOT_FOUND', `There is no ${story}.`);
    append(runId, entryOf({ by: 'tester', story, attempt: about?.attempts ?? 0 }));
    return { runId: state.runId, changed: true, stories: story === undefined ? [] : [story], says: 'Done.' };
  }

  function decideRun(runId: string, entryOf: (tip: string) => JournalEntry): RunDecisionResult {
    const { tip, runId: id } = stateOf(find(runId));
    append(runId, entryOf(tip));
    return { runId: id, changed: true, tip };
  }

  const operations: MemoryOperations = {
    ...notInMemory(),
    submitted,
    issueRequests,
    replanned,
    amended,
    append,
    addArtifact: (runId, path, content) => find(runId).artifacts.set(path, Buffer.from(content)),
    followers: (runId) => find(runId).waiting.size,
    answerNext: (name, prepared) => answers.set(name, [...(answers.get(name) ?? []), prepared]),
    addRun(entries, raw = []) {
      const [first] = entries;
      if (first?.type !== 'run.created') throw new Error('the first event is run.created');
      runs.set(first.runId, { events: [], raw, waiting: new Set(), artifacts: new Map() });
      for (const entry of entries) append(first.runId, entry);
      return first.runId;
    },
    validatePrd: ({ prd }) => attempt(() => ({ prd: parsePrd(prd.bytes, prd.path) })),
    previewPrompt: (request) =>
      attempt(() => {
        const prd = parsePrd(request.prd.bytes, request.prd.path);
        const story = prd.stories.find(({ id }) => id === (request.story ?? prd.stories[0]?.id));
        if (story === undefined)
          throw new HaloError('STORY_NOT_FOUND', 'The PRD has no such story.', { hint: 'Name another story.' });
        const [, limit = '0'] = /^prompt\.max_tokens=(\d+)$/m.exec(request.set.join('\n')) ?? [];
        const guidance = [{ file: 'AGENTS.md', text: 'Use tabs. '.repeat(500) }];
        const built = buildPrompt({ prd, story, progress: [], guidance, gates: [], maxTokens: Number(limit) });
        return { story: story.id, agent: 'codex', commit: 'c'.repeat(40), ...built, problems: [], warnings: [] };
      }),
    submit(request) {
      if (request.prd.bytes.length === 0)
        return Promise.reject(
          new HaloError('PRD_INVALID', `${request.prd.path} is empty.`, { hint: 'Write a story.' }),
        );
      submitted.push(request);
      const runs = request.repos.map((repo, index): Submitted => ({
        runId: `new-${index + 1}`,
        repo,
        warnings: ['a warning'],
        parallel: 1,
      }));
      return Promise.resolve({ runs });
    },
    submitIssues(request) {
      issueRequests.push(request);
      return Promise.resolve({ runs: [{ runId: 'new-1', repo: request.repo, parallel: 1, warnings: [] }] });
    },
    submitBatch({ members }) {
      const runs = members.map(({ repo }, index): Submitted => ({
        runId: `new-${index + 1}`,
        repo,
        parallel: 1,
        batch: 'batch-1',
        warnings: [],
      }));
      return Promise.resolve({ runs });
    },
    async listRuns({
      open = Infinity,
      ended = Infinity,
      newest = Infinity,
      before,
      since = '',
      until = '~',
      ...condition
    } = {}) {
      await Promise.resolve();
      const all = [...runs.values()]
        .map(stateOf)
        .reverse()
        .filter(
          (run) =>
            (before === undefined || run.runId < before) &&
            run.createdAt >= since &&
            run.createdAt < until &&
            matches(factsOf(run), condition),
        );
      const next = all.length > newest ? all[newest - 1]?.runId : undefined;
      const left = { open, ended };
      const listed = all.slice(0, newest).filter(({ status }) => left[status === 'ended' ? 'ended' : 'open']-- > 0);
      const omitted = all.filter((run) => !listed.includes(run));
      const count = (isEnded: boolean) => omitted.filter(({ status }) => (status === 'ended') === isEnded).length;
      return { runs: listed, omitted: { open: count(false), ended: count(true) }, ...(next !== undefined && { next }) };
    },
    getRun: ({ runId }) =>
      attempt(() => {
        const state = stateOf(find(runId));
        const record = { runId: state.runId, status: state.status };
        return { state, record, dir: `/halo/runs/${state.runId}`, workers: 0 };
      }),
    followEvents: ({ runId, after, follow }, signal) => attempt(() => eventsOf(find(runId), { after, follow, signal })),
    followRaw: ({ runId, story }) =>
      attempt(() => {
        const run = find(runId);
        if (story !== undefined && !stateOf(run).stories.some(({ id }) => id === story))
          throw new HaloError('STORY_NOT_FOUND', `Run ${runId} has no story ${story}.`);
        const raw = run.raw.filter((each) => story === undefined || each.story === story);
        return toStream(raw.map(({ line }) => ({ raw: Buffer.from(`${line}\n`).toString('base64') })));
      }),
    readDiff: ({ runId, story }) =>
      attempt(() =>
        Buffer.from(
          `diff --git a/${stateOf(find(runId)).runId} b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new of ${story ?? 'all'}\n`,
        ),
      ),
    listArtifacts: ({ runId }) =>
      attempt(() => {
        const files = [...find(runId).artifacts];
        return { artifacts: files.map(([path, { length: bytes }]) => ({ path, bytes, changedAt: '2030-01-01' })) };
      }),
    readArtifact: ({ runId, path, last }) =>
      attempt(() => {
        const found = fileOf(runId, path);
        return last === undefined ? found : found.subarray(-last);
      }),
    readLog: ({ runId, path, from, lines }) =>
      attempt(() => {
        const all = logOf(runId, path);
        return { total: all.length, from, lines: all.slice(from, from + lines) };
      }),
    searchLog: ({ runId, path, text }) =>
      attempt(() => {
        const lines = findLines(logOf(runId, path).join('\n'), text);
        return { count: lines.length, lines };
      }),
    followLog: ({ runId, path }) =>
      attempt(() => {
        const lines = logOf(runId, path);
        return toStream([{ lines: lines.length, bytes: fileOf(runId, path).length }]);
      }),
    land: ({ runId, ...confirmation }) =>
      answer('land', () => {
        const state = stateOf(find(runId));
        const landing = { verb: 'land', runId, changes: landingChanges(state), commit: state.tip } as const;
        if (state.landed === undefined) assertConfirmed(landing, confirmation);
        return { branch: 'main', from: state.repo.base, to: state.tip };
      }),
    requestPull: ({ runId, ...confirmation }) =>
      answer('requestPull', () => {
        const state = stateOf(find(runId));
        const { pull, runId: id } = state;
        const secrets = { flags: ['secret'], changes: secretsToConfirm(state, []) } as const;
        assertConfirmed({ verb: 'pr', runId: id, commit: state.tip, ...secrets }, confirmation);
        if (pull === undefined) append(id, { type: 'pull.requested', by: 'tester' });
        return { runId: id, changed: pull === undefined, ...(pull !== undefined && { pull }) };
      }),
    pause: ({ runId, now }) =>
      answer('pause', () => say(runId, undefined, ({ by }) => ({ type: 'run.paused', by, now }))),
    resume: ({ runId, replan }) =>
      attempt(() => {
        if (replan?.prd !== undefined) replanned.push(replan.prd);
        return say(runId, undefined, ({ by }) => ({ type: 'run.resumed', by }));
      }),
    cancel: ({ runId, story: storyId }) =>
      answer('cancel', () =>
        say(runId, storyId, ({ by, story, attempt }) =>
          story === undefined
            ? { type: 'run.ended', stopReason: 'USER_ABORT', detail: `cancelled by ${by}`, by }
            : { type: 'story.cancelled', by, story, attempt },
        ),
      ),
    retry: ({ runId, story: storyId, ...settings }) =>
      attempt(() => {
        amended.push(settings);
        return say(runId, storyId, ({ by, story }) => ({
          type: 'run.retried',
          by,
          stories: story === undefined ? [] : [story],
        }));
      }),
    answer: ({ runId, story: storyId, text = '', option }) =>
      answer('answer', () =>
        say(runId, storyId, ({ by, story = storyId, attempt }) => ({
          type: 'story.answered',
          by,
          story,
          attempt,
          ...(option === undefined ? { text } : { text: `option ${option}`, option }),
        })),
      ),
    approve: ({ runId, story, ...confirmation }) =>
      answer('approve', (): StoryDecisionResult | RunDecisionResult => {
        const state = stateOf(find(runId));
        if (story === undefined) {
          assertConfirmed({ verb: 'approve', runId, changes: landingChanges(state), commit: state.tip }, confirmation);
          return decideRun(runId, (tip) => ({ type: 'run.approved', by: 'tester', tip }));
        }
        const stories = state.stories.filter(({ id }) => id === story);
        const commit = stories[0]?.held?.commit ?? '';
        assertConfirmed({ verb: 'approve', runId, changes: stories, commit, story }, confirmation);
        return decide(runId, story, (held) => ({ type: 'story.approved', by: 'tester', ...held }));
      }),
    reject: ({ runId, story, reason = 'refused', feedback, comments }) =>
      answer('reject', (): StoryDecisionResult | RunDecisionResult => {
        if (story === undefined)
          return decideRun(runId, (tip) => ({ type: 'run.rejected', by: 'tester', tip, reason }));
        if (feedback === undefined && comments === undefined)
          return decide(runId, story, (held) => ({ type: 'story.rejected', by: 'tester', reason, ...held }));
        const given = (comments ?? []).map(({ path, text }) => ({ path, side: 'new' as const, text }));
        const said = { by: 'tester', text: feedback ?? '', comments: given };
        return decide(runId, story, (held) => ({ type: 'feedback.given', ...said, ...held }));
      }),
    replay: ({ runId, story: storyId, attempt: number = 1 }) =>
      attempt(() => {
        const story = stateOf(find(runId)).stories.find(({ id }) => id === storyId);
        if (story === undefined) throw new HaloError('STORY_NOT_FOUND', `Run ${runId} has no story ${storyId}.`);
        const same = { what: 'ending', recorded: 'SUCCESS', found: 'SUCCESS', ok: number === 1 };
        const image = `sha256:${'a'.repeat(64)}`;
        return { story: storyId, attempt: number, image, checks: [same] };
      }),
    listWorkers: () => Promise.resolve({ workers: [], outages: [] }),
    listBreakers: () =>
      Promise.resolve({
        breakers: [...runs.values()].map(stateOf).flatMap(({ runId, breaker }) => {
          if (breaker === undefined) return [];
          return [{ key: `run:${runId}`, status: 'open' as const, reason: breaker, until: null }];
        }),
      }),
    resetBreaker: ({ key }) =>
      attempt(() => {
        const { runId, breaker } = stateOf(find(key.replace('run:', '')));
        if (breaker === undefined) throw new HaloError('USAGE', `There is no open breaker "run:${runId}".`);
        append(runId, { type: 'breaker.reset', key: 'run' });
        return { key: `run:${runId}` };
      }),
    listSnapshots: () => Promise.resolve({ snapshots: [] }),
    removeSnapshots: () => Promise.resolve({ removed: [], inUse: [] }),
    listModels: () => Promise.resolve({ prices: { source: 'a test', date: '2026-11-01' }, providers: [], models: [] }),
    prune: () => Promise.resolve({ removed: [], bytes: 0, heldBack: [], failed: [], excessBytes: 0, hasLimits: false }),
    ...userOperations(),
    close: () => Promise.resolve(),
  };
  return operations;
}

/** Reports, for example, read the journals of a HALO_HOME: see openScriptedHome. */
function notInMemory(): OperationMethods {
  const refuse = ({ name }: { name: string }) => [name, () => Promise.reject(new Error(`${name} is not in memory.`))];
  return Object.fromEntries(ALL_OPERATIONS.map(refuse)) as OperationMethods;
}

async function* eventsOf(
  run: MemoryRun,
  { after, follow, signal }: { after: number; follow: boolean; signal: AbortSignal | undefined },
): AsyncGenerator<{ event: JournalEvent }> {
  for (let next = after; signal?.aborted !== true;) {
    const event = run.events[next];
    if (event !== undefined) {
      next += 1;
      yield { event };
    } else if (!follow || stateOf(run).status === 'ended') return;
    else await change(run, signal);
  }
}

function stateOf(run: MemoryRun): RunState {
  const state = foldRun(run.events);
  if (state === undefined) throw new Error('a run without run.created');
  return state;
}

function change(run: MemoryRun, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      run.waiting.delete(wake);
      resolve();
    };
    run.waiting.add(wake);
    signal?.addEventListener('abort', wake, { once: true });
  });
}

async function attempt<T>(work: () => T): Promise<T> {
  await Promise.resolve();
  return work();
}

/** The real ones, in a folder of their own. */
function userOperations() {
  const who = () => ({ by: 'tester', now: new Date('2030-01-31T12:00:00Z') });
  const home = tempDir();
  const users = new Users(home);
  return {
    listUsers: async () => ({ users: await users.list() }),
    addUser: (user) => users.add(user, who()),
    changeUser: ({ name, ...change }) => users.change(name, change, who()),
    removeUser: ({ name }) => users.remove(name, who()).then(() => ({ name })),
    createToken: ({ name, expiresAt }) => users.createToken(name, expiresAt, who()),
    revokeToken: ({ id }) => users.revokeToken(id, who()).then(({ user }) => ({ id, user })),
    readAccessLog: async (query) => ({ events: await new AccessLog(home).read(query) }),
    listEndpoints: async () => ({ endpoints: await listEndpoints(home) }),
    testEndpoint: ({ name }) => testEndpoint(home, name, who().by).then(() => ({ delivered: true as const })),
    retryEndpoint: async ({ name }) => ({ notifications: await retryEndpoint(home, name, new Date()) }),
    listDeliveries: async ({ limit = 100 } = {}) => ({ deliveries: await listDeliveries(home, limit) }),
  } satisfies Partial<OperationMethods>;
}

async function* toStream<T>(values: readonly T[]): AsyncGenerator<T> {
  await Promise.resolve();
  yield* values;
}
