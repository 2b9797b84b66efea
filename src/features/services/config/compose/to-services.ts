import { formatConfigDuration } from '../../../../lib/units.ts';
import { READY_MS, toServiceName } from '../../core/service.ts';
import type { ComposeService } from './compose-service.ts';

/** Where well-known images have their data. */
const DATA = /^\/(?:data|data\/db|var\/lib\/(?:postgresql|mysql|redis|mongodb|rabbitmq)(?:\/.*)?)$/;

/** The table `[services]` of these services, as halo.toml would have it, and the line of each. */
export function toServices(services: readonly ComposeService[]): {
  table: Record<string, object>;
  lines: Map<string, number>;
} {
  const named = new Map<string, ComposeService>();
  // A service keeps its name if it can, because others reach it by that.
  const isKept = ({ name }: ComposeService) => toServiceName(name, new Set()) === name;
  for (const service of [...services.filter(isKept), ...services.filter((each) => !isKept(each))])
    named.set(toServiceName(service.name, named), service);
  return {
    table: Object.fromEntries([...named].map(([name, service]) => [name, toService(name, service)])),
    lines: new Map([...named].map(([name, { line }]) => [name, line])),
  };
}

function toService(name: string, service: ComposeService): object {
  const { image, env, command, ready, readyMs = 0, memory, cpus, ports } = service;
  const aliases = [...new Set([service.name.toLowerCase(), ...service.aliases.map((each) => each.toLowerCase())])];
  const others = aliases.filter((each) => each !== name);
  const inMemory = service.tmpfs.some((path) => DATA.test(path));
  const data = inMemory ? 'tmpfs' : service.volumes[0];
  return {
    image,
    ...(command && { command }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(ready !== undefined && { ready }),
    ...(readyMs > READY_MS && { ready_within: formatConfigDuration(readyMs) }),
    ...(ports.length > 0 && { ports: [...new Set(ports)] }),
    ...(memory !== undefined && { memory }),
    ...(cpus !== undefined && { cpus }),
    ...(data !== undefined && { data }),
    ...(others.length > 0 && { aliases: others }),
  };
}
