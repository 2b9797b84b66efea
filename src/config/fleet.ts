import type { FleetLimits } from './config.ts';
import type { Layer } from './resolve-model.ts';
import type { HaloToml } from './schema.ts';

/**
 * Limits, and what requests may do, hold for all runs of a HALO_HOME: neither a repository nor one submit, nor one worker,
 * may set its own.
 */
export function refuseMisplacedFleet(layers: readonly Layer[], hosts: Layer | undefined): string[] {
  return layers
    .flatMap((layer) => (layer === hosts ? [] : layer.settings))
    .filter(({ key }) => key.startsWith('fleet.') || key.startsWith('server.'))
    .map(({ key, origin }) => `${origin}: ${key}: only config.toml of HALO_HOME may set it, outside of profiles`);
}

export function toFleet({ fleet }: HaloToml): FleetLimits {
  return {
    ...limit('max', fleet.max),
    ...limit('perHost', fleet.per_host),
    ...limit('perRepo', fleet.per_repo),
    ...limit('perUser', fleet.per_user),
    perAgent: {
      ...limit('codex', fleet.per_agent.codex),
      ...limit('claude', fleet.per_agent.claude),
      ...limit('opencode', fleet.per_agent.opencode),
      ...limit('gemini', fleet.per_agent.gemini),
      ...limit('command', fleet.per_agent.command),
    },
  };
}

function limit<K extends string>(name: K, value: number | undefined): Partial<Record<K, number>> {
  return value === undefined ? {} : ({ [name]: value } as Record<K, number>);
}
