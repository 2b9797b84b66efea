import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';

/**
 * Containers, volumes and networks of a HALO_HOME on its engines, volumes of snapshots and objects without a record, its
 * scratch and socket folders, and half-written files.
 */
export async function findLeftovers(home: string, engines: readonly Docker[] = [new Docker()]): Promise<string[]> {
  const id = readFileSync(join(home, 'id'), 'utf8').trim();
  const found = await Promise.all(engines.map((docker) => listOnEngine(docker, id)));
  const mirrors = inside(join(home, 'repos'));
  const records = [
    ...inside(join(home, 'snapshots')).flatMap(inside),
    ...mirrors.flatMap((mirror) => inside(join(mirror, 'engines')).flatMap(inside)),
  ]
    .filter((path) => path.endsWith('.json'))
    .map((path) => readFileSync(path, 'utf8'));
  return [
    ...found.flatMap(({ own }) => own),
    ...found.flatMap(({ kept }) => kept.filter((name) => !records.some((text) => text.includes(name)))),
    ...mirrors.flatMap((mirror) => inside(join(mirror, 'attempts'))),
    ...inside(join(home, 'sockets')),
  ];
}

function inside(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}

/** `own`: of attempts; `kept`: volumes that records name. */
async function listOnEngine(docker: Docker, id: string): Promise<{ own: string[]; kept: string[] }> {
  const filters = { label: [`dev.halo.home=${id}`] };
  const volumes = async (label: string) => {
    const { Volumes } = await docker.listVolumes({ filters: JSON.stringify({ label: [`dev.halo.${label}=${id}`] }) });
    return (Volumes ?? []).map(({ Name }) => Name);
  };
  const [containers, own, snapshots, objects, networks] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    volumes('home'),
    volumes('snapshot'),
    volumes('objects'),
    docker.listNetworks({ filters: JSON.stringify(filters) }),
  ]);
  return {
    own: [...containers.flatMap(({ Names }) => Names), ...own, ...networks.map(({ Name }) => Name)],
    kept: [...snapshots, ...objects],
  };
}
