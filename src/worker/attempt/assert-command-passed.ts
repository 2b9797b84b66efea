import type { Config } from '../../config/config.ts';
import { NETWORK_UNREACHABLE, describeUnreachable } from '../../core/command-needs.ts';
import { failureSign, type BrokenBaseMode } from '../../core/failure/broken-base.ts';
import type { StopReason } from '../../core/failure/stop-reason.ts';
import { describeRestored, type Restored } from '../../core/review/restored-paths.ts';
import { describeFailedTests, failedTestsLines, type FailedTests } from '../../core/test-report/failed-tests.ts';
import { formatConfigDuration } from '../../lib/units.ts';
import type { GateResults } from './gate-results.ts';
import type { EndedCommand } from '../workspace/run-commands.ts';
import {
  describeExit,
  attemptFailed,
  withCause,
  programMissing,
  findMissingProgram,
  assertExited,
  AttemptEnded,
} from './attempt-outcome.ts';

type Failed = Pick<EndedCommand, 'kind' | 'command' | 'exit' | 'tail' | 'egress'>;

const MAX_REASONS = 3;

/**
 * Throws AttemptEnded, with what is known of the cause, unless the command exited 0. On a tree that no story has
 * `touched`, a program that is not found is missing from the image.
 */
export function assertCommandPassed(config: Config, ended: Failed, { touched }: { touched: boolean }): void {
  const { kind, command, exit, tail, egress } = ended;
  const what = `${kind} \`${command}\``;
  const unreachable = kind === 'setup' && !touched ? explainUnreachable(config, ended) : undefined;
  if (unreachable !== undefined) throw withCause('network-missing', attemptFailed(...unreachable, tail));
  const unreached = findUnreachedHosts(egress);
  assertExited(exit, { what: [what, ...unreached].join('; '), limits: config.limits }, tail);
  if (exit.exitCode === 0) return;
  const program = findMissingProgram(exit, tail);
  if (program !== undefined && !touched) throw programMissing(program, { what, image: config.image, tail });
  const refusals = [...(egress?.channel.refusals ?? [])].slice(0, MAX_REASONS);
  const why = [...unreached, `${kind} ${describeExit(exit, config.limits, tail)}`, ...refusals].join('; ');
  throw attemptFailed('GATE_FAILED', `${why}: \`${command}\``, tail);
}

/** What is known about a gate in addition to its exit. */
export interface GateHistory {
  /** The failed tests, if its output names them. */
  failed: FailedTests | undefined;
  /** What was undone before this and earlier gates. */
  restored: Restored | undefined;
  /** The results of the gates on the commit that the story builds on; undefined if they are not known. */
  onBase: GateResults | undefined;
  /** What happens if the gate fails there in the same way. */
  brokenBase: BrokenBaseMode;
}

const MAY_REPAIR = 'Is the agent to repair it? Otherwise cancel the story, and start a new run after repairing it.';
/** What a person can answer, if the gate fails on the base commit. */
const REPAIRS = ['Repair it as part of this story.', 'Do not repair it: what made the gate fail is fixed already.'];

/** The failure of a gate that exited with another code than 0 on the work of a story. */
export function gateFailed(
  { limits, image }: Pick<Config, 'limits' | 'image'>,
  { command, exit, tail }: Pick<Failed, 'command' | 'exit' | 'tail'>,
  { failed, restored, onBase, brokenBase }: GateHistory,
): AttemptEnded {
  const what = `gate \`${command}\``;
  const base = onBase?.gates.find((gate) => gate.command === command);
  const program = findMissingProgram(exit, tail);
  // If the base has the program, the story removed it.
  if (program !== undefined && base?.exitCode === 127) return programMissing(program, { what, image, tail });
  const isBroken = base !== undefined && base.exitCode !== 0;
  const sign = failureSign({ exitCode: exit.exitCode, failed, tail });
  const isAlike = isBroken && sign !== undefined && sign === base.sign;
  const before = restored === undefined ? '' : `; halo had ${describeRestored(restored)}`;
  const tests = failed === undefined ? '' : `${describeFailedTests(failed)}; `;
  // The command comes last, because it may be long.
  const why = `${tests}gate ${describeExit(exit, limits, tail)}${describeBase()}${before}: \`${command}\``;
  const log = failed === undefined ? tail : `${failedTestsLines(failed).join('\n')}\n\n${tail}`;
  const end = attemptFailed('GATE_FAILED', why, log);
  if (!isBroken) return end;
  if (!isAlike || brokenBase === 'retry') return withCause('base-fails', end);
  if (brokenBase === 'stop') return withCause('base-broken', end);
  const question = `${why}. The base commit is broken. ${MAY_REPAIR}`;
  const asks = { verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary: question, options: REPAIRS } as const;
  return withCause('base-broken', new AttemptEnded({ ...end.outcome, ...asks }));

  function describeBase(): string {
    if (onBase?.setupFailed === true) return '; on the base commit not even setup works';
    if (!isBroken) return '';
    return `; it fails on the base commit as well${isAlike || sign === undefined ? '' : ', in another way'}`;
  }
}

/** The distinct reasons why requests of the command failed. */
function findUnreachedHosts(egress: Failed['egress']): string[] {
  const rows = (egress?.channel.gateway.traffic() ?? []).filter(({ outcome }) => outcome === 'failed');
  const reasons = rows.flatMap(({ reason }) => reason?.replace(/^network: /, '') ?? []);
  return [...new Set(reasons)].slice(0, MAX_REASONS);
}

/** Explains a setup command that hung or failed because a host that it needs is not allowed; only a setting can fix that. */
function explainUnreachable(
  { network, limits }: Config,
  { command, exit, tail }: Failed,
): [StopReason, string] | undefined {
  const hung = exit.ended === 'idle' || exit.ended === 'wall';
  const namesFailed = exit.ended === 'exited' && exit.exitCode !== 0 && NETWORK_UNREACHABLE.test(tail);
  if (!hung && !namesFailed) return undefined;
  const none = network.registries.length === 0 && network.allow.length === 0;
  const nothing = 'nothing is reachable from setup; allow what it needs in [network]';
  const why = describeUnreachable([command], network) ?? (none && namesFailed ? nothing : undefined);
  if (why === undefined) return undefined;
  const idle = `no output for ${formatConfigDuration(limits.idleMs)} (limits.idle)`;
  const wall = `ran longer than ${formatConfigDuration(limits.wallMs)} (limits.wall)`;
  const ended = !hung ? `setup exited ${String(exit.exitCode)}` : exit.ended === 'idle' ? idle : wall;
  return [hung ? 'TIMEOUT' : 'GATE_FAILED', `${ended}; ${why}: setup \`${command}\``];
}
