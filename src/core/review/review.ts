import type { Usage } from '../agent.ts';
import { attemptMs, AttemptReader, lastGates, totalUsage, type AttemptRecord } from '../journal/attempts.ts';
import type { CommandResult } from '../journal/event-parts.ts';
import type { JournalEvent } from '../journal/events.ts';
import { applyEvent } from '../journal/fold-run.ts';
import type { Prd } from '../prd/prd.ts';
import { attemptLimit, type RunState, type StoryState } from '../run/state.ts';
import type { TestChanges } from '../test-report/test-report.ts';
import type { AgentReview, JudgedCriterion } from './agent-review.ts';
import type { CheckedClaim } from './criteria.ts';
import { findStoryFindings, type StoryFinding } from './story-findings.ts';
import { testsOfCriterion } from './tests-first.ts';

/** How a story's commit changes a file. */
export interface ChangedFile {
  path: string;
  hunks: number;
  added: number;
  removed: number;
}

/** What a reviewer needs to know about a story. */
export interface StoryReview {
  id: string;
  title: string;
  progress: StoryState['progress'];
  /** The latest attempt; 0: not started. */
  attempt: number;
  /** The number of the last one that it may have. */
  maxAttempts: number;
  commit?: string;
  /** In a dry run: what the agent would change. */
  description?: string;
  /**
   * `n` counts from 1. `claim`: the agent's claim about it; `locked`: its locked tests, which passed after the change; `judged`:
   * what the reviewer said.
   */
  criteria: { n: number; text: string; claim?: CheckedClaim; locked?: string[]; judged?: JudgedCriterion['met'] }[];
  /** The review of the latest attempt by another agent. */
  reviewed?: AgentReview;
  /** Of the latest attempt. */
  gates: Pick<CommandResult, 'command' | 'exitCode' | 'ms'>[];
  tests?: TestChanges;
  /** The failed tests of the latest attempt, if a gate named them. */
  failedTests?: StoryState['failedTests'];
  /** Findings that a reader of the diff may overlook. */
  findings: StoryFinding[];
  /** Whether the gates of the latest attempt reported their tests; absent if unknown. */
  reported?: boolean;
  agent?: string;
  /** Of the agent's program. */
  version?: string;
  model?: string;
  /** Of all attempts. */
  usage: Usage;
  /** How long the latest attempt ran, without waits for approval; absent while it runs. */
  ms?: number;
  /** Of the first attempt. */
  startedAt?: string;
  /** Of the latest attempt, or of the decision about its commit. */
  endedAt?: string;
}

/** Folds a journal into the run's state and a review of each story. Undefined without `run.created`. */
export function reviewRun(
  events: Iterable<JournalEvent>,
): { state: RunState; stories: StoryReview[]; prd: Prd } | undefined {
  let state: RunState | undefined;
  let prd: Prd | undefined;
  const reader = new AttemptReader();
  for (const event of events) {
    state = applyEvent(state, event);
    if (event.type === 'run.created' || event.type === 'run.replanned') prd = event.prd;
    reader.read(event);
  }
  if (state === undefined || prd === undefined) return undefined;
  const attempts = reader.attempts;
  const run = state;
  const stories = run.stories.map((story): StoryReview => {
    const own = attempts.filter((each) => each.story === story.id);
    const newest = own.at(-1);
    const { claims = [], reported, end } = newest ?? {};
    const model = modelOf(newest);
    // Stories and attempts may have other agents than the run.
    const agent = newest?.agent?.agent ?? run.agent;
    const { id, title, progress, attempts: attempt, tests, failedTests, startedAt, endedAt } = story;
    const description = run.dry && progress === 'passed' ? story.summary : undefined;
    const commit = story.commit ?? story.held?.commit ?? story.approved?.commit;
    const acceptance = prd.stories.find((each) => each.id === id)?.acceptance ?? [];
    return {
      id,
      title,
      progress,
      attempt,
      maxAttempts: attemptLimit(story, run),
      criteria: acceptance.map((text, index) => {
        const n = index + 1;
        const claim = claims.find((each) => each.n === n);
        const locked = commit === undefined ? undefined : testsOfCriterion(story.locked, { n, of: acceptance.length });
        const judged = story.reviewed?.criteria.find((each) => each.n === n)?.met;
        return { n, text, ...(claim && { claim }), ...(locked && { locked: [...locked] }), ...(judged && { judged }) };
      }),
      gates: (newest ? lastGates(newest) : []).map(({ command, exitCode, ms }) => ({ command, exitCode, ms })),
      findings: findStoryFindings(story),
      usage: totalUsage(own.flatMap(({ usage }) => usage)),
      ...(commit !== undefined && { commit }),
      ...(story.reviewed && { reviewed: story.reviewed }),
      ...(description !== undefined && { description }),
      ...(tests !== undefined && { tests }),
      ...(failedTests !== undefined && { failedTests }),
      ...(reported !== undefined && { reported }),
      ...(agent !== undefined && { agent }),
      ...(newest?.agent?.version !== undefined && { version: newest.agent.version }),
      ...(model !== undefined && { model }),
      ...(newest !== undefined && end !== undefined && { ms: attemptMs(newest, end.at) }),
      ...(startedAt !== undefined && { startedAt }),
      ...(endedAt !== undefined && { endedAt }),
    };
  });
  return { state, stories, prd };
}

/** The model that its agent used: the one of its launch, unless the agent used only others. A reviewer may use more. */
function modelOf(attempt: AttemptRecord | undefined): string | undefined {
  const used = attempt?.usage.flatMap(({ model }) => model ?? []) ?? [];
  return used.find((model) => model === attempt?.agent?.model) ?? used.at(-1);
}

/** Whether a path looks like a test file. */
export function isTestPath(path: string): boolean {
  return /(?:^|\/)(?:tests?|specs?|__tests__|e2e)\/|(?:^|\/)test_[^/]*$|[._-](?:test|spec|tests)\.[^/]+$/i.test(path);
}

const EXTENSIONS =
  'bash|c|cc|cjs|cpp|cs|css|csv|go|h|hpp|html|ini|java|js|json|jsx|kt|less|md|mjs|php|proto|py|rb|rs|scss|sh|sql|svelte|swift|toml|ts|tsx|txt|vue|xml|ya?ml';
const PATH = new RegExp(`(?<![\\w./@-])(?:[\\w.@-]+/)*[\\w@-][\\w.-]*\\.(?:${EXTENSIONS})(?![\\w/-])`, 'g');
/** Product names such as `Node.js`. */
const PRODUCT = /^[A-Z][A-Za-z0-9]*\.js$/;

/** Finds the paths that a criterion names, such as `src/cart.js`. */
function findPaths(text: string): string[] {
  return (text.match(PATH) ?? []).filter((path) => !PRODUCT.test(path));
}

/** Finds reasons to look twice at a story's commit, a sentence each. `files` are its changed files. */
export function findDoubts(review: StoryReview, files: readonly ChangedFile[]): string[] {
  const { tests, criteria } = review;
  const changed = files.map(({ path }) => path);
  const more = tests === undefined ? changed.some(isTestPath) : tests.after > tests.before || changed.some(isTestPath);
  const count = tests === undefined ? '' : `: ${tests.before} before, ${tests.after} after`;
  const named = [...new Set(criteria.flatMap(({ text, claim }) => [...findPaths(text), ...(claim?.files ?? [])]))];
  const touched = named.some((name) => changed.some((path) => path === name || path.endsWith(`/${name}`)));
  return [
    ...(more ? [] : [`It adds no test${count}.`]),
    ...(named.length === 0 || touched
      ? []
      : [`It changes none of the files that its criteria name: ${named.join(', ')}.`]),
  ];
}
