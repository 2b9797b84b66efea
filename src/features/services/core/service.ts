/** Who uses a service. Each command of either has services of its own. */
export const SERVICE_USERS = ['gates', 'agent'] as const;
export type ServiceUser = (typeof SERVICE_USERS)[number];

/** In memory, instead of a folder. */
export const IN_MEMORY = 'tmpfs';

/** `[services.<name>]` as it is written, with the names of this program. */
export interface DeclaredService {
  readonly image: string;
  readonly command?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly ready?: string | undefined;
  readonly readyWithinMs?: number | undefined;
  readonly port?: number | undefined;
  readonly ports?: readonly number[] | undefined;
  readonly memoryBytes?: number | undefined;
  readonly cpus?: number | undefined;
  readonly data?: string | undefined;
  readonly prepare?: readonly string[] | undefined;
  readonly prepareFiles?: readonly string[] | undefined;
  readonly aliases?: readonly string[] | undefined;
  readonly for?: readonly ServiceUser[] | undefined;
}

/** A service beside the commands of a run, with its defaults. */
export interface Service {
  /** Also the name under which it is reached. */
  name: string;
  image: string;
  /** Replaces the command of the image, whose entrypoint stays; undefined: that of the image. */
  command: readonly string[] | undefined;
  env: Readonly<Record<string, string>>;
  /** A shell command in its container that exits 0 when it is ready; a port must accept, too. Undefined: all ports must. */
  ready: string | undefined;
  /** How long it may take to be ready, in ms. */
  readyMs: number;
  /** TCP ports, unique among the services of a run. */
  ports: readonly number[];
  memoryBytes: number;
  cpus: number;
  /** An absolute path, or `IN_MEMORY`; undefined: the VOLUME of the image, if it has one. */
  data: string | undefined;
  /** Shell commands in a clean tree, whose effect on the data is kept for later starts. */
  prepare: readonly string[];
  /** Globs of the files that decide their effect; undefined: all. */
  prepareFiles: readonly string[] | undefined;
  /** Further names under which it is reached. */
  aliases: readonly string[];
  for: readonly ServiceUser[];
}

/** The limits of a sandbox, which no service exceeds. */
interface Limits {
  memoryBytes: number;
  cpus: number;
}

const MEMORY_BYTES = 1024 ** 3;
/** How long a service may take to be ready, unless halo.toml says otherwise. */
export const READY_MS = 300_000;

/** The services of a configuration, in the order of their names. Each is as `findServiceFaults` wants it. */
export function toServices(declared: Readonly<Record<string, DeclaredService>>, limits: Limits): Service[] {
  return Object.entries(declared)
    .map(([name, each]): Service => ({
      name,
      image: each.image,
      command: each.command,
      env: each.env ?? {},
      ready: each.ready ?? checkOf(each),
      readyMs: each.readyWithinMs ?? READY_MS,
      ports: portsOf(each),
      memoryBytes: Math.min(each.memoryBytes ?? MEMORY_BYTES, limits.memoryBytes),
      cpus: Math.min(each.cpus ?? limits.cpus, limits.cpus),
      data: each.data,
      prepare: each.prepare ?? [],
      prepareFiles: each.prepareFiles,
      aliases: each.aliases ?? [],
      for: each.for ?? SERVICE_USERS,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The ports of well-known images, by the last part of their name. */
const KNOWN_PORTS: Readonly<Record<string, number>> = {
  postgres: 5432,
  postgis: 5432,
  pgvector: 5432,
  mariadb: 3306,
  mysql: 3306,
  redis: 6379,
  valkey: 6379,
  memcached: 11211,
  mongo: 27017,
};

/** PostgreSQL accepts connections before it is ready, and refuses them. An image made otherwise may not have the program. */
function checkOf(service: DeclaredService): string | undefined {
  const [port] = portsOf(service);
  if (port === undefined || KNOWN_PORTS[baseName(service.image)] !== 5432) return undefined;
  return `! command -v pg_isready >/dev/null || pg_isready -q -h 127.0.0.1 -p ${port}`;
}

/** The last part of the name of an image, without its tag. */
export function baseName(image: string): string {
  return (image.split('/').at(-1) ?? '').split(/[:@]/)[0] ?? '';
}

/** The ports of a service: as declared, or that of a well-known image. */
export function portsOf(service: Pick<DeclaredService, 'image' | 'port' | 'ports'>): number[] {
  const { port, ports = [] } = service;
  const declared = [...(port === undefined ? [] : [port]), ...ports];
  if (declared.length > 0) return [...new Set(declared)];
  const name = baseName(service.image);
  const known = Object.hasOwn(KNOWN_PORTS, name) ? KNOWN_PORTS[name] : undefined;
  return known === undefined ? [] : [known];
}

/** Ports of halo on the loopback interface of sandboxes. */
const OWN_PORTS = [4000, 4080];

/** As many as one forwarder of a sandbox can serve beside that of halo. */
const MAX_PORTS = 60;

/** Names that every sandbox has already. */
const OWN_NAMES = ['localhost', 'ip6-localhost', 'ip6-loopback', 'localhost.localdomain', 'halo', 'gateway'];

/** What is wrong with services; completes "services.<path>: …". */
interface ServiceFault {
  path: (string | number)[];
  message: string;
}

/** What is wrong with the services of a configuration, in which each is valid by itself. */
export function findServiceFaults(declared: Readonly<Record<string, DeclaredService>>): ServiceFault[] {
  const faults: ServiceFault[] = [];
  const byPort = new Map<number, string>();
  const byName = new Map(Object.keys(declared).map((name) => [name, name]));
  for (const [name, each] of Object.entries(declared)) {
    if (OWN_NAMES.includes(name)) faults.push({ path: [name], message: 'is a name that sandboxes have already' });
    const ports = portsOf(each);
    if (ports.length === 0)
      faults.push({
        path: [name, 'port'],
        message: `is missing: halo does not know the port of the image "${each.image}"`,
      });
    for (const port of ports) {
      const other = byPort.get(port);
      if (OWN_PORTS.includes(port))
        faults.push({ path: [name, 'port'], message: `must not be ${port}, which is halo’s own in sandboxes` });
      else if (other !== undefined)
        faults.push({ path: [name, 'port'], message: `is ${port}, which is also a port of services.${other}: two services cannot have one port` }); // prettier-ignore
      byPort.set(port, other ?? name);
    }
    if (each.prepare !== undefined && each.data === IN_MEMORY)
      faults.push({ path: [name, 'prepare'], message: `needs data in a folder, not "${IN_MEMORY}"` });
    if (each.prepareFiles !== undefined && each.prepare === undefined)
      faults.push({ path: [name, 'prepare_files'], message: 'needs prepare' });
    for (const alias of each.aliases ?? []) {
      const other = byName.get(alias);
      if (OWN_NAMES.includes(alias))
        faults.push({ path: [name, 'aliases'], message: `must not have "${alias}", a name that sandboxes have already` });
      else if (other !== undefined && other !== name)
        faults.push({ path: [name, 'aliases'], message: `must not have "${alias}", which is also a name of services.${other}` }); // prettier-ignore
      byName.set(alias, other ?? name);
    }
  }
  if (byPort.size > MAX_PORTS) faults.push({ path: [], message: `must have at most ${MAX_PORTS} ports together` });
  return faults;
}

/** The services for a user, and the names under which they are reached. */
export function servicesFor(services: readonly Service[], user: ServiceUser): Service[] {
  return services.filter((service) => service.for.includes(user));
}

/**
 * The name in halo.toml of a service that another file calls `written`, which may have capital letters, underscores and dots;
 * none of `taken`.
 */
export function toServiceName(written: string, taken: { has(name: string): boolean }): string {
  const plain = written
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, 36)
    .replace(/-+$/, '');
  const name = plain === '' ? 'service' : plain;
  for (let count = 1; ; count++) {
    const each = count === 1 ? name : `${name}-${count}`;
    if (!taken.has(each)) return each;
  }
}

/** All names of services. */
export function namesOf(services: readonly Pick<Service, 'name' | 'aliases'>[]): string[] {
  return [...new Set(services.flatMap(({ name, aliases }) => [name, ...aliases]))];
}
