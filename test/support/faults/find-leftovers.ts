import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';

/** Containers, volumes and networks of a HALO_HOME, its scratch and socket folders, and half-written files. */
export async function findLeftovers(home: string, docker = new Docker()): Promise<string[]> {
  const filters = { label: [`dev.halo.home=${readFileSync(join(home, 'id'), 'utf8').trim()}`] };
  const [containers, { Volumes }, networks] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters: JSON.stringify(filters) }),
    docker.listNetworks({ filters: JSON.stringify(filters) }),
  ]);
  const inside = (folder: string) => (existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []);
  return [
    ...containers.flatMap(({ Names }) => Names),
    ...Volumes.map(({ Name }) => Name),
    ...networks.map(({ Name }) => Name),
    ...inside(join(home, 'repos')).flatMap((mirror) => inside(join(mirror, 'attempts'))),
    ...inside(join(home, 'sockets')),
  ];
}
