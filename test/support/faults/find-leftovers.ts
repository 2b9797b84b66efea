import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';

/** Containers, volumes and networks of a HALO_HOME, volumes of snapshots without a record, its scratch and socket folders, and half-written files. */
export async function findLeftovers(home: string, docker = new Docker()): Promise<string[]> {
  const id = readFileSync(join(home, 'id'), 'utf8').trim();
  const filters = { label: [`dev.halo.home=${id}`] };
  const [containers, { Volumes }, snapshots, networks] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters: JSON.stringify(filters) }),
    docker.listVolumes({ filters: JSON.stringify({ label: [`dev.halo.snapshot=${id}`] }) }),
    docker.listNetworks({ filters: JSON.stringify(filters) }),
  ]);
  const inside = (folder: string) => (existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []);
  const records = inside(join(home, 'snapshots'))
    .flatMap(inside)
    .filter((path) => path.endsWith('.json'))
    .map((path) => readFileSync(path, 'utf8'));
  return [
    ...containers.flatMap(({ Names }) => Names),
    ...Volumes.map(({ Name }) => Name),
    ...snapshots.Volumes.map(({ Name }) => Name).filter((name) => !records.some((text) => text.includes(name))),
    ...networks.map(({ Name }) => Name),
    ...inside(join(home, 'repos')).flatMap((mirror) => inside(join(mirror, 'attempts'))),
    ...inside(join(home, 'sockets')),
  ];
}
