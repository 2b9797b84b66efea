import type { AttemptEvents } from '../journal/attempt-events.ts';
import type { ReadyService } from '../journal/event-parts.ts';
import type { Phase } from '../journal/phase.ts';
import {
  describeBinaryFiles,
  describeIgnored,
  describeLargeFiles,
  describeLockFiles,
  type NotedFiles,
} from '../noted-files.ts';
import { hasLostTests, testsText, type TestChanges } from '../test-report/test-report.ts';
import { formatElapsed } from '../text/format-elapsed.ts';
import { describeHidden, formatPlaces, type HiddenPlaces } from '../text/hidden-places.ts';
import { safeLine } from '../text/safe-text.ts';
import {
  agentReviewOf,
  blockingOf,
  describeReview,
  findingText,
  isFinding,
  reviewerName,
  type AgentReview,
} from './agent-review.ts';
import { describeRestored, joinRestored, type Restored } from './restored-paths.ts';
import {
  describeHolding,
  describeTestProblem,
  lockedTestsOf,
  type LockedTests,
  type TestProblem,
} from './tests-first.ts';

/**
 * What halo notes of the latest attempt at a story. Declared here and in the table below, and nowhere else: the states of
 * story and attempt, and every surface, have what the table has.
 */
export interface NotedFacts extends NotedFiles {
  /** Files to which it added possible secrets. */
  suspects?: { path: string; names: string[] }[];
  /** Test changes of the last attempt that ran its gates, compared with its base. */
  tests?: TestChanges;
  /** What is wrong with the tests that it wrote first, if that did not end it. */
  testProblems?: TestProblem[];
  /** The tests that were written first, and locked, in the last attempt that had any. */
  locked?: LockedTests;
  /** Changes that setup or gates made to the tree and halo reverted before a gate. */
  restored?: Restored;
  /** The review of the last attempt that had one, by another agent. */
  reviewed?: AgentReview;
  /** Hidden characters that it added to text files. */
  hidden?: HiddenPlaces;
  /** Protected paths that it changed, which a person was asked about. */
  guarded?: string[];
  /** The services of its latest command that had any, and how long each took to be ready, in ms. */
  services?: ReadyService[];
}

/** Something in a story's change that a user should know before landing it. */
export interface StoryFinding {
  kind: 'secret' | 'tests' | 'review' | 'unproven' | 'hidden' | 'protected' | 'binary' | 'large' | 'ignored' | 'locks';
  /** E.g. `k.txt adds a GitHub token`. Safe to print. */
  text: string;
}

/** Something to know of an attempt that says nothing against its change. */
export interface StoryNote {
  kind: 'review' | 'services' | 'tree';
  text: string;
  tone?: 'warn';
}

type Key = keyof NotedFacts;

/** Which event has a fact, and the fact after the event; undefined: as before. */
type Source<K extends Key> =
  | {
      [T in keyof AttemptEvents]: {
        on: T;
        take(event: AttemptEvents[T], before: NotedFacts[K]): NotedFacts[K];
      };
    }[keyof AttemptEvents]
  | { on?: undefined };

type Row<K extends Key> = Source<K> & {
  /** When it is forgotten: as the next attempt starts, or as this phase does. Absent: when it is noted again. */
  until?: 'start' | Phase;
  finds?(value: NonNullable<NotedFacts[K]>): StoryFinding[];
  notes?(value: NonNullable<NotedFacts[K]>): StoryNote[];
};

const MAX_SUSPECTS = 5;

/** In the order in which people see them. */
const ROWS: { [K in Key]-?: Row<K> } = {
  suspects: {
    on: 'secrets.suspected',
    take: ({ suspects }, before = []) => [...before, ...suspects],
    until: 'import',
    finds(suspects) {
      const more = suspects.length - MAX_SUSPECTS;
      return [
        ...suspects.slice(0, MAX_SUSPECTS).map(({ path, names }): StoryFinding => ({
          kind: 'secret',
          text: `${safeLine(path)} adds ${safeLine(names.join(' and '))}`,
        })),
        ...(more > 0 ? [{ kind: 'secret', text: `and ${more} more files` } as const] : []),
      ];
    },
  },
  tests: {
    on: 'tests.compared',
    take: ({ before, after, removed, skipped, emptied, unread }) => ({
      ...{ before, after, removed, skipped, emptied },
      ...(unread !== undefined && { unread }),
    }),
    finds(tests) {
      if (hasLostTests(tests)) return [{ kind: 'tests', text: testsText(tests) }];
      return tests.unread === undefined ? [] : [{ kind: 'unproven', text: `tests: ${testsText(tests)}` }];
    },
  },
  testProblems: {
    on: 'tests.judged',
    take: ({ step, why }, before = []) => (why === undefined ? undefined : [...before, { step, why }]),
    until: 'start',
    finds: (problems) =>
      problems.map((problem) => ({ kind: 'unproven', text: `tests first, ${describeTestProblem(problem)}` })),
  },
  locked: {
    on: 'tests.locked',
    take: lockedTestsOf,
    until: 'prepare',
    finds: ({ holding = [] }) => (holding.length === 0 ? [] : [{ kind: 'unproven', text: describeHolding(holding) }]),
  },
  restored: {
    on: 'tree.restored',
    take: (event, before) => joinRestored(before, event),
    until: 'start',
    notes(restored) {
      const text = `changes of setup or earlier gates were reverted before a gate: ${describeRestored(restored)}`;
      return [{ kind: 'tree', text, tone: 'warn' }];
    },
  },
  reviewed: {
    on: 'review.ended',
    take: agentReviewOf,
    until: 'import',
    finds: (review) => (isFinding(review) ? [{ kind: 'review', text: reviewText(review) }] : []),
    notes: (review) => (isFinding(review) ? [] : [{ kind: 'review', text: `${reviewerName(review)}: no findings` }]),
  },
  hidden: {
    on: 'hidden.added',
    take: ({ hidden }) => hidden,
    until: 'import',
    finds: (hidden) => [{ kind: 'hidden', text: `adds ${describeHidden(hidden)}` }],
  },
  // Of the commit that waits for a person.
  guarded: {
    until: 'import',
    finds: (paths) =>
      paths.length === 0 ? [] : [{ kind: 'protected', text: `changes protected paths: ${formatPlaces(paths)}` }],
  },
  binary: ofFiles('binary', (files) => ({ kind: 'binary', text: describeBinaryFiles(files) })),
  large: ofFiles('large', (files) => ({ kind: 'large', text: describeLargeFiles(files) })),
  ignored: ofFiles('ignored', (files) => ({ kind: 'ignored', text: describeIgnored(files) })),
  locks: ofFiles('locks', (files) => ({ kind: 'locks', text: describeLockFiles(files) })),
  services: {
    on: 'services.ready',
    take: ({ services }) => services,
    notes(services) {
      const text = services.map(({ name, ms }) => `${name} ready after ${formatElapsed(ms)}`).join(', ');
      return [{ kind: 'services', text }];
    },
  },
};

const KEYS = Object.keys(ROWS) as Key[];
const NOTED = new Set(KEYS.flatMap((key) => ROWS[key].on ?? []));

/** The facts about the change of an attempt, which the branch keeps with its commit. */
export const FINDINGS = KEYS.filter((key) => ROWS[key].finds !== undefined);

/** Whether an event has a fact of the table. */
export function isNoted({ type }: { type: string }): boolean {
  return (NOTED as ReadonlySet<string>).has(type);
}

/** A state with what an event says. */
export function withNoted<T extends NotedFacts>(state: T, event: { type: string }): T {
  const found = KEYS.flatMap((key) => {
    const row = ROWS[key] as { on?: string; take?(event: unknown, before: unknown): unknown };
    const value = row.on === event.type ? row.take?.(event, state[key]) : undefined;
    return value === undefined ? [] : [[key, value]];
  });
  return { ...state, ...(Object.fromEntries(found) as NotedFacts) };
}

/** A state without the facts that end when an attempt starts, or one of its phases. */
export function withoutNoted<T extends NotedFacts>(state: T, at: NonNullable<Row<Key>['until']>): T {
  const next = { ...state };
  for (const key of KEYS) if (ROWS[key].until === at) delete next[key];
  return next;
}

/** Finds possible secrets, hidden characters, protected, binary and large files, lost tests and lock files in a change. */
export function findStoryFindings(facts: NotedFacts): StoryFinding[] {
  return said(facts, 'finds');
}

/** What else to know of an attempt. */
export function findStoryNotes(facts: NotedFacts): StoryNote[] {
  return said(facts, 'notes');
}

function said(facts: NotedFacts, how: 'finds'): StoryFinding[];
function said(facts: NotedFacts, how: 'notes'): StoryNote[];
function said(facts: NotedFacts, how: 'finds' | 'notes') {
  return KEYS.flatMap((key) => {
    const say = ROWS[key][how] as ((value: unknown) => (StoryFinding | StoryNote)[]) | undefined;
    return facts[key] === undefined ? [] : (say?.(facts[key]) ?? []);
  });
}

/** What an import notes of the files of a change. */
function ofFiles<K extends keyof NotedFiles>(
  key: K,
  find: (files: NonNullable<NotedFiles[K]>) => StoryFinding,
): Row<K> {
  const source = { on: 'files.noted', take: (event: NotedFiles) => event[key] };
  return { ...source, until: 'import', finds: (files) => (files.length === 0 ? [] : [find(files)]) } as Row<K>;
}

/** The review of an agent, with its first blocking finding. */
function reviewText(review: AgentReview): string {
  const [first] = blockingOf(review);
  const example = first === undefined ? '' : `, such as ${safeLine(findingText(first), 300)}`;
  return `${reviewerName(review)} reviewed it: ${describeReview(review)}${example}`;
}
