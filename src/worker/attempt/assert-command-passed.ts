import type { Config } from '../../config/config.ts';
import { describeUnreachable, explainOutput, NETWORK_UNREACHABLE } from '../../core/command-needs.ts';
import type { FailureCause } from '../../core/failure/failure.ts';
import type { StopReason } from '../../core/failure/stop-reason.ts';
import { formatConfigDuration } from '../../lib/units.ts';
import type { EndedCommand } from '../workspace/run-commands.ts';
import {
  assertExited,
  attemptFailed,
  describeExit,
  findMissingProgram,
  programMissing,
  withCause,
} from './attempt-outcome.ts';

type Failed = Pick<EndedCommand, 'kind' | 'command' | 'exit' | 'tail' | 'egress'>;

interface Judging {
  /** Whether a story may have changed the tree. */
  touched: boolean;
  /** The cause of an exit that nothing else explains. */
  cause?: FailureCause | undefined;
}

const MAX_REASONS = 3;

/**
 * Throws AttemptEnded, with what is known of the cause, unless the command exited 0. On a tree that no story has
 * `touched`, a program that is not found is missing from the image.
 */
export function assertCommandPassed(config: Config, ended: Failed, { touched, cause }: Judging): void {
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
  const reasons = [...refusals, explainOutput(kind, ended) ?? []].flat();
  const why = [...unreached, `${kind} ${describeExit(exit, config.limits, tail)}`, ...reasons].join('; ');
  // Nothing but a setting changes that a host is refused.
  const needsHost = kind === 'setup' && !touched && unreached.length === 0 && namesRefusedHost(egress, tail);
  throw withCause(needsHost ? 'network-missing' : cause, attemptFailed('GATE_FAILED', `${why}: \`${command}\``, tail));
}

/** Whether the output of the command ends with a host that it asked for and that is not allowed; it can do without others. */
function namesRefusedHost(egress: Failed['egress'], tail: string): boolean {
  const rows = egress?.channel.gateway.traffic() ?? [];
  return rows.some(({ unlisted, target }) => unlisted === true && tail.includes(target.replace(/:\d+$/, '')));
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
