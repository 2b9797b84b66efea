import { describeSession, type SessionStart } from '../agent-session.ts';
import { describeAgentOptions, type AgentOptions } from '../agent-options.ts';
import type { AgentActivity, Usage } from '../agent.ts';
import { describeWarning, formatUsd, type BudgetWarning } from '../budget.ts';
import { formatCount } from '../text/format-count.ts';
import { describeKeyPause, type KeyPause } from '../failure/model-use.ts';
import {
  describeBinaryFiles,
  describeIgnored,
  describeLargeFiles,
  describeLockFiles,
  type NotedFiles,
} from '../noted-files.ts';
import type { Listening } from '../run/messages.ts';
import { blockingOf, describeReview, findingText, reviewerName, type AgentReview } from '../review/agent-review.ts';
import type { CheckedClaim } from '../review/criteria.ts';
import { describeRestored, type Restored } from '../review/restored-paths.ts';
import { describeTestProblem, type LockedTests, type TestsStep } from '../review/tests-first.ts';
import { failedTestsLines } from '../test-report/failed-tests.ts';
import { hasLostTests, testsText, type TestChanges } from '../test-report/test-report.ts';
import { formatElapsed, msBetween } from '../text/format-elapsed.ts';
import { describeHidden, type HiddenPlaces } from '../text/hidden-places.ts';
import { safeLine } from '../text/safe-text.ts';
import { activityLines } from '../transcript/activity-lines.ts';
import {
  EXCERPT,
  LIVE,
  LINE_LENGTH,
  commandEnd,
  continuationLines,
  exitText,
  logOptionFor,
  tailLines,
} from '../transcript/excerpt.ts';
import type { StoryLine } from '../transcript/transcript-line.ts';
import type { EgressRequests, NetworkPhase } from './egress-events.ts';
import type { AttemptRef, CommandResult, PromptPart, ReadyService } from './event-parts.ts';
import { logCommand, type EventLineOptions, type EventRows } from './event-row.ts';
import type { Phase } from './phase.ts';

/** What happens within an attempt. */
export interface AttemptEvents {
  'phase.started': { phase: Phase } & AttemptRef;
  'phase.ended': { phase: Phase; ms: number } & AttemptRef;
  'setup.ended': { phase: 'setup' | 'gates'; log: string } & CommandResult & AttemptRef;
  /** Setup runs in a workspace of its own, to make a snapshot or, if `again`, to compare with one. */
  'snapshot.started': { phase: 'setup' | 'gates'; again?: true } & AttemptRef;
  /** Workspaces begin with a snapshot, which setup `made` in this attempt or before. `key`, `digest`: SHA-256. */
  'snapshot.used': {
    phase: 'setup' | 'gates';
    key: string;
    digest: string;
    mode: 'overlay' | 'copy';
    made?: true;
    /** Why a change of any file needs another one; a clause. Only if it was `made`. */
    wholeTree?: string;
  } & AttemptRef;
  /** The result of setup cannot be a snapshot, or differs from it; `reason` is a clause. Setup runs for each workspace. */
  'snapshot.refused': { phase: 'setup' | 'gates'; reason: string } & AttemptRef;
  /** The prompt of the attempt; `missing`: files that could not be used, a sentence each. */
  'prompt.built': {
    tokens: number;
    maxTokens: number;
    sections: PromptPart[];
    missing?: string[];
  } & AttemptRef;
  /**
   * The program of the agent starts with these options; `version`: absent if halo has not installed it; `model`: absent if it
   * has no model route; `session`: only if the agent keeps its session.
   */
  'agent.launched': { agent: string; version?: string; model?: string; session?: SessionStart } & AgentOptions &
    AttemptRef;
  /** The agent takes messages while it works, until its phase ends. `when`: default `turn`. */
  'agent.listens': { when?: Listening } & AttemptRef;
  'agent.activity': { activity: AgentActivity } & AttemptRef;
  /** Identical requests of one sandbox to its gateway. */
  'network.asked': { phase: NetworkPhase } & EgressRequests & AttemptRef;
  /**
   * One response of a model. `told`: `all` if it reported its full usage; otherwise `usage` has the reserved cost. `tokens`
   * count against budgets. `ms`: from the permission to send the request to the end of the response; absent if there was
   * none.
   */
  'model.used': {
    model: string;
    told: 'all' | 'part';
    usage: Usage;
    tokens: number;
    ms?: number;
  } & AttemptRef;
  /** Four fifths of a budget have been spent. Amounts are millionths of a USD, or tokens. */
  'budget.warned': BudgetWarning & AttemptRef;
  /** Requests for a model wait: its provider requested a pause, or the configured rate is reached. `until`: ISO 8601. */
  'model.paused': { model: string; why: 'provider' | 'rate'; until: string } & AttemptRef;
  /** One of several keys is not used until a time; requests use the others. */
  'key.paused': KeyPause & AttemptRef;
  /** A command waits for its services, which are named. */
  'services.awaited': { phase: NetworkPhase; services: string[] } & AttemptRef;
  /** The services of a command are ready. `waitedMs`: how long the command waited for them. */
  'services.ready': { phase: NetworkPhase; services: ReadyService[]; waitedMs: number } & AttemptRef;
  /** A service did not get ready, or ended before its command. `why`: a sentence; `log`: its path below the attempt. */
  'service.failed': { phase: NetworkPhase; service: string; why: string; log?: string; tail?: string } & AttemptRef;
  'gate.started': { command: string } & AttemptRef;
  /** Before a gate, halo reverted changes that setup and earlier gates had made to the tree. */
  'tree.restored': { command: string } & Restored & AttemptRef;
  /** `sha256` of the output, hex. */
  'gate.ended': { log: string; sha256?: string } & CommandResult & AttemptRef;
  /** The story adds possible secrets; the list may be truncated. */
  'secrets.suspected': { suspects: { path: string; names: string[] }[] } & AttemptRef;
  /** The story adds hidden characters to text files. */
  'hidden.added': { hidden: HiddenPlaces } & AttemptRef;
  /** The story adds large files or changes lock files; the lists may be truncated. */
  'files.noted': NotedFiles & AttemptRef;
  /** What was found about the tests that were written first; `why`: what is wrong with them. */
  'tests.judged': { step: TestsStep; why?: string } & AttemptRef;
  /**
   * Tests that failed on the base commit: from now on the attempt may not change them. `commit`: with the tests, on `base`;
   * `from`: the earlier attempt that wrote them, if it was not this one.
   */
  'tests.locked': { base: string; commit: string; from?: number } & LockedTests & AttemptRef;
  /**
   * An agent refactored the change; `why`: why its work was dropped, and the change lands as it was; `unchanged`: because it
   * found nothing to improve.
   */
  'refactor.ended': { kept: boolean; why?: string; unchanged?: true } & AttemptRef;
  /** Another agent reviewed the change. */
  'review.ended': AgentReview & AttemptRef;
  /** Tests of the candidate compared with those of its base; the lists may be truncated. */
  'tests.compared': TestChanges & AttemptRef;
  /** The agent's claims about the criteria; `reported`: whether the gates named their tests. */
  'criteria.claimed': { criteria: CheckedClaim[]; reported: boolean } & AttemptRef;
}

const MAX_SHOWN_FINDINGS = 10;

export const ATTEMPT_EVENTS: EventRows<AttemptEvents> = {
  'phase.started': {
    is: ['lossy'],
    lines: (event, { live }) => (live ? [{ label: event.phase, tone: 'quiet', text: 'starts' }] : []),
  },
  'phase.ended': {
    is: ['lossy'],
    lines: (event) => {
      if (isUnremarkable(event.phase, event.ms)) return [];
      return [{ label: event.phase, tone: 'quiet', text: `done    ${formatElapsed(event.ms)}` }];
    },
  },
  'setup.ended': { is: [], lines: (event, how) => commandLines(event, 'setup', how) },
  'snapshot.started': {
    is: [],
    lines: (event) => [
      { label: 'setup', tone: 'quiet', text: event.again ? 'again, to check the snapshot' : 'makes a snapshot' },
    ],
  },
  'snapshot.used': {
    is: [],
    lines: (event) => {
      if (event.made) {
        const until = event.wholeTree && ` until a file changes: ${safeLine(event.wholeTree, LINE_LENGTH)}`;
        return [{ label: 'setup', tone: 'quiet', text: `kept as snapshot ${event.key.slice(0, 12)}${until ?? ''}` }];
      }
      return [{ label: 'setup', tone: 'quiet', text: `from snapshot ${event.key.slice(0, 12)}` }];
    },
  },
  'snapshot.refused': {
    is: [],
    lines: (event) => [{ label: 'setup', tone: 'warn', text: `no snapshot: ${safeLine(event.reason, LINE_LENGTH)}` }],
  },
  'prompt.built': { is: [], lines: (event) => promptLines(event) },
  'agent.launched': {
    is: [],
    lines: (event) => {
      const began = event.session && describeSession(event.session);
      const said = [...describeAgentOptions(event), ...(began === undefined ? [] : [began])];
      const { agent, version, model } = event;
      const name = version === undefined ? agent : `${agent} ${version}`;
      const text = [name, ...(model === undefined ? [] : [model]), ...said].join(', ');
      return said.length === 0 ? [] : [{ label: 'agent', tone: 'quiet', text: safeLine(text, LINE_LENGTH) }];
    },
  },
  'agent.listens': { is: ['changes'], lines: () => [] },
  'agent.activity': {
    is: ['lossy'],
    lines: (event, how) => activityLines(event.activity, how.live ? LIVE : (how.extent ?? EXCERPT)),
  },
  'network.asked': {
    is: [],
    lines: (event) => {
      if (event.outcome !== 'refused') return [];
      const times = event.count === 1 ? '' : `  (${event.count} times)`;
      const what = safeLine(`${event.method} ${event.target}`, LINE_LENGTH);
      return [{ label: 'network', tone: 'warn', text: `refused ${what}${times}` }];
    },
  },
  'model.used': { is: [], lines: (event, { live }) => (live ? [modelLine(event, live.used)] : []) },
  'budget.warned': {
    is: ['changes'],
    lines: (event) => [{ label: 'budget', tone: 'warn', text: describeWarning(event) }],
  },
  'model.paused': {
    is: ['changes', 'audited'],
    lines: (event) => {
      const why = event.why === 'rate' ? 'the configured rate is reached' : 'the provider asked for a pause';
      const text = `requests for ${safeLine(event.model)} wait ${formatElapsed(msBetween(event.at, event.until))}: ${why}`;
      return [{ label: 'model', tone: 'warn', text }];
    },
  },
  'key.paused': {
    is: ['changes', 'audited', 'operator'],
    lines: (event) => {
      const text = safeLine(describeKeyPause(event, event.at), LINE_LENGTH);
      return [{ label: 'model', tone: 'warn', text }];
    },
  },
  'services.awaited': {
    is: ['lossy'],
    lines: (event, { live }) =>
      live ? [{ label: 'services', tone: 'quiet', text: `waits for ${safeLine(event.services.join(', '), LINE_LENGTH)}` }] : [], // prettier-ignore
  },
  'services.ready': {
    is: [],
    lines: (event) => {
      const ready = event.services.map(({ name, ms, preparedMs }) => {
        const prepared = preparedMs === undefined ? '' : ` prepared in ${formatElapsed(preparedMs)},`;
        return `${safeLine(name, 60)}${prepared} ready after ${formatElapsed(ms)}`;
      });
      const waited = event.waitedMs < 1_000 ? '' : `; ${event.phase} waited ${formatElapsed(event.waitedMs)}`;
      return [{ label: 'services', tone: 'quiet', text: safeLine(`${ready.join(', ')}${waited}`, LINE_LENGTH) }];
    },
  },
  'service.failed': {
    is: [],
    lines: (event, { extent = EXCERPT }) => {
      const said = tailLines(event.tail ?? '', extent.failedOutput, extent.line);
      const first: StoryLine = { label: 'services', tone: 'bad', text: safeLine(event.why, LINE_LENGTH) };
      return [first, ...continuationLines(said, 'quiet', '  ')];
    },
  },
  'gate.started': {
    is: ['lossy'],
    lines: (event, { live }) =>
      live ? [{ label: 'gate', tone: 'strong', text: `$ ${safeLine(event.command, LINE_LENGTH)}` }] : [],
  },
  'tree.restored': {
    is: [],
    lines: (event) => {
      const text = `before \`${safeLine(event.command, 60)}\`, reverted changes of setup or earlier gates: `;
      return [{ label: 'tree', tone: 'warn', text: `${text}${describeRestored(event)}` }];
    },
  },
  'gate.ended': { is: [], lines: (event, how) => commandLines(event, 'gate', how) },
  'secrets.suspected': {
    is: ['audited'],
    lines: (event) =>
      event.suspects.map(({ path, names }) => ({
        label: 'import',
        tone: 'warn' as const,
        text: `warning: ${safeLine(path)} adds ${safeLine(names.join(' and '))}`,
      })),
  },
  'hidden.added': {
    is: ['audited'],
    lines: (event) => [{ label: 'import', tone: 'warn', text: `warning: adds ${describeHidden(event.hidden)}` }],
  },
  'files.noted': {
    is: [],
    lines: (event) =>
      [
        ...(event.large?.length ? [describeLargeFiles(event.large)] : []),
        ...(event.binary?.length ? [describeBinaryFiles(event.binary)] : []),
        ...(event.locks?.length ? [describeLockFiles(event.locks)] : []),
        ...(event.ignored?.length ? [describeIgnored(event.ignored)] : []),
      ].map((text) => ({ label: 'import', tone: 'warn' as const, text: `warning: ${text}` })),
  },
  'tests.judged': {
    is: [],
    lines: (event) => {
      if (event.why === undefined) return [];
      return [{ label: 'tests', tone: 'warn', text: describeTestProblem({ step: event.step, why: event.why }) }];
    },
  },
  'tests.locked': {
    is: [],
    lines: (event) => {
      const named = event.files.map(({ path }) => safeLine(path)).join(', ');
      const held = event.holding?.length ?? 0;
      const early = held === 0 ? '' : `, ${held} passed as declared`;
      const failed = event.cases.length === 0 ? '' : ` (${event.cases.length - held} failed as they must${early})`;
      const from = event.from === undefined ? '' : `, written by attempt ${event.from}`;
      return [{ label: 'tests', tone: 'plain', text: safeLine(`locked: ${named}${failed}${from}`, LINE_LENGTH) }];
    },
  },
  'refactor.ended': {
    is: [],
    lines: (event) => {
      // Nothing is wrong with code that needs no refactoring.
      if (event.unchanged) return [{ label: 'agent', tone: 'plain', text: 'refactoring changed nothing' }];
      const why = event.kept ? ' kept' : ` dropped: ${safeLine(event.why ?? '', LINE_LENGTH)}`;
      return [{ label: 'agent', tone: event.kept ? 'plain' : 'warn', text: `refactoring${why}` }];
    },
  },
  'review.ended': {
    is: [],
    lines: (event) => {
      const { findings, failed } = event;
      const tone = failed !== undefined || blockingOf(event).length > 0 ? 'warn' : 'plain';
      const shown = findings.slice(0, MAX_SHOWN_FINDINGS).map((finding) => safeLine(findingText(finding), LINE_LENGTH));
      const text = safeLine(`${reviewerName(event)}: ${describeReview(event)}`, LINE_LENGTH);
      return [{ label: 'review', tone, text }, ...continuationLines(shown, 'plain', '  ')];
    },
  },
  'tests.compared': {
    is: [],
    lines: (event) =>
      hasLostTests(event) || event.unread !== undefined
        ? [{ label: 'tests', tone: 'warn', text: testsText(event) }]
        : [],
  },
  'criteria.claimed': { is: [], lines: () => [] },
};

/** One response of a model, and what the attempt has used with it. */
function modelLine({ model, usage, ms }: AttemptEvents['model.used'], used: Usage): StoryLine {
  const tokens = `${formatCount(usage.inputTokens)} tokens in, ${formatCount(usage.outputTokens)} out`;
  const took = ms === undefined ? '' : ` in ${formatElapsed(ms)}`;
  const cost = usage.costUsd === undefined ? '' : `${formatUsd(usage.costUsd)}, `;
  const total = used.costUsd === undefined ? '' : `; ${formatUsd(used.costUsd)} so far`;
  return { label: 'model', tone: 'quiet', text: `${safeLine(model, 60)}  ${cost}${tokens}${took}${total}` };
}

/** What the agent does not get, if anything. */
function promptLines({ tokens, maxTokens, sections, missing = [] }: AttemptEvents['prompt.built']): StoryLine[] {
  const cut = sections.filter((part) => part.cut !== undefined);
  const names = cut.map(({ name, file, cut: lost = 0 }) => `${name}${file === undefined ? '' : ` (${file})`} -${lost}`);
  const said = [
    ...(cut.length === 0 ? [] : [`cut to ${tokens} of at most ${maxTokens} tokens: ${names.join(', ')}`]),
    ...missing.map((problem) => `warning: ${problem}`),
  ];
  return said.map((text) => ({ label: 'prompt', tone: 'warn', text: safeLine(text, LINE_LENGTH) }));
}

/** Gates have lines of their own, and short phases are noise. */
function isUnremarkable(phase: Phase, ms: number): boolean {
  return phase === 'gates' || (phase !== 'prepare' && phase !== 'agent' && ms < 1000);
}

type CommandEvent = AttemptEvents['gate.ended' | 'setup.ended'];

function commandLines(event: CommandEvent, label: string, { extent = EXCERPT, runId }: EventLineOptions): StoryLine[] {
  const { failed } = event;
  if (event.interrupted) return [commandLine(event, label)];
  const said =
    failed === undefined ? tailLines(event.tail ?? '', extent.failedOutput, extent.line) : failedTestsLines(failed);
  const output = continuationLines(said, failed === undefined ? 'quiet' : 'plain', '  ');
  const log =
    runId === undefined || event.exitCode === 0
      ? []
      : [`whole log: ${logCommand(runId, event, logOptionFor(event.log))}`];
  return [commandLine(event, label), ...output, ...continuationLines(log, 'quiet', '  ')];
}

function commandLine(event: CommandEvent, label: string): StoryLine {
  const command = safeLine(event.command);
  const took = formatElapsed(event.ms);
  const { tone } = commandEnd(event);
  if (tone === 'good') return { label, tone, text: `ok      ${took.padEnd(6)}  ${command}` };
  if (tone === 'warn') return { label, tone, text: `interrupted  ${took.padEnd(6)}  ${command}` };
  return { label, tone: 'bad', text: `FAILED  ${took.padEnd(6)}  ${command}  (${exitText(event.exitCode)})` };
}
