import { NAME_FAILED, unreachableText } from '../core/command-needs.ts';
import type { StopReason } from '../core/failure/stop-reason.ts';
import { formatDuration } from '../lib/duration.ts';
import type { Attempt } from './attempt-context.ts';
import type { EndedCommand } from './on-commit.ts';
import { describeExit, failed, failedBy, failedForProgram, missingProgram, refuseBrokenExit } from './story-end.ts';

type Failed = Pick<EndedCommand, 'kind' | 'command' | 'exit' | 'tail' | 'way'>;

/**
 * Throws AttemptOver, with what is known of the cause, unless the command exited 0. On a tree that no story has
 * `touched`, a program that is not found is missing from the image.
 */
export function refuseFailed(
  { config }: Pick<Attempt, 'config'>,
  ended: Failed,
  { touched }: { touched: boolean },
): void {
  const { kind, command, exit, tail, way } = ended;
  const what = `${kind} \`${command}\``;
  const unreachable = kind === 'setup' && !touched ? whyUnreachable(config, ended) : undefined;
  if (unreachable !== undefined) throw failedBy('network-missing', failed(...unreachable, tail));
  refuseBrokenExit(exit, { what, limits: config.limits }, tail);
  if (exit.exitCode === 0) return;
  const program = missingProgram(exit, tail);
  if (program !== undefined && !touched) throw failedForProgram(program, { what, image: config.image, tail });
  const refusals = [...(way?.channel.refusals ?? [])].slice(0, 3);
  const why = [`${kind} ${describeExit(exit, config.limits, tail)}`, ...refusals].join('; ');
  throw failed('GATE_FAILED', `${why}: \`${command}\``, tail);
}

/** Setup that hung or failed because it has no way to what it downloads: nothing but a setting can change that. */
function whyUnreachable(
  { network, limits }: Attempt['config'],
  { command, exit, tail }: Failed,
): [StopReason, string] | undefined {
  const hung = exit.ended === 'idle' || exit.ended === 'wall';
  const namesFailed = exit.ended === 'exited' && exit.exitCode !== 0 && NAME_FAILED.test(tail);
  if (!hung && !namesFailed) return undefined;
  const none = network.registries.length === 0 && network.allow.length === 0;
  const nothing = 'nothing is reachable from setup; allow what it needs in [network]';
  const why = unreachableText([command], network) ?? (none && namesFailed ? nothing : undefined);
  if (why === undefined) return undefined;
  const idle = `no output for ${formatDuration(limits.idleMs)} (limits.idle)`;
  const wall = `ran longer than ${formatDuration(limits.wallMs)} (limits.wall)`;
  const ended = !hung ? `setup exited ${String(exit.exitCode)}` : exit.ended === 'idle' ? idle : wall;
  return [hung ? 'TIMEOUT' : 'GATE_FAILED', `${ended}; ${why}: setup \`${command}\``];
}
