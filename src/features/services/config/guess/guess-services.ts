import { baseName, portsOf, toServiceName } from '../../core/service.ts';
import { servicesOfGitlab, servicesOfWorkflow, type FoundService } from './ci-services.ts';
import { clientsIn, type Kind } from './database-clients.ts';
import { databaseOf, settingsPaths, type DjangoDatabase } from './django.ts';
import { migrationsOf } from './migrations.ts';
import { readCompose } from '../compose/read-compose.ts';
import { toServices } from '../compose/to-services.ts';

/** Settings that `halo init` proposes for the databases of tests. */
export interface GuessedServices {
  tables: GuessedTable[];
  /** A compose file to use instead, and the services in it. */
  compose?: { path: string; names: string[] };
  /** Variables that lead tests to the services, and the files that set them. */
  env: Record<string, string>;
  envFrom: string[];
  /** What is not used, a sentence each. */
  notes: string[];
}

export interface GuessedTable {
  /** As in halo.toml. */
  name: string;
  values: Record<string, unknown>;
  why: string;
  /** Only as a comment, because no file says that tests need it. */
  isOff?: true;
  /** Values that it may want, only as a comment, and why. */
  maybe?: { values: Record<string, unknown>; why: string };
}

/** What the guess depends on: texts of files, by their path in the repository. */
export interface ServiceSources {
  files: ReadonlyMap<string, string>;
  /** `.github/workflows/*.yml` */
  workflows: ReadonlyMap<string, string>;
}

/** In the order in which compose looks for them. */
export const COMPOSE_FILES = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'];
export const GITLAB_FILE = '.gitlab-ci.yml';

/**
 * Guesses the services of tests: those of CI, because its variables fit them; without any, those of a compose file,
 * or the database of Django's settings. A client in the dependencies alone is a hint.
 */
export function guessServices({ files, workflows }: ServiceSources): GuessedServices {
  const guess: GuessedServices = { tables: [], env: {}, envFrom: [], notes: [] };
  const ci = [
    ...[...workflows].map(([path, text]) => ({ path, ...servicesOfWorkflow(path, text) })),
    { path: GITLAB_FILE, ...servicesOfGitlab(GITLAB_FILE, files.get(GITLAB_FILE) ?? '') },
  ];
  for (const { path, services, env, notes } of ci) {
    guess.notes.push(...notes);
    for (const service of services) addTable(guess, service);
    if (services.length > 0)
      addEnv(
        guess,
        path,
        env,
        services.map(({ name }) => name),
      );
  }
  const images = guess.tables.map(({ values }) => String(values.image));
  if (images.length === 0) images.push(...addCompose(guess, files));
  const known = new Set(images.map(kindOf));
  // Their clients are the same.
  if (known.has('mariadb')) known.add('mysql');
  if (known.has('mysql')) known.add('mariadb');
  const django = findDjango(files);
  // A table cannot stand beside the name of a compose file.
  if (django !== undefined && !known.has(django.kind) && guess.compose === undefined) {
    addDjango(guess, django);
    known.add(django.kind);
  }
  addPrepare(guess, files);
  for (const { kind, says } of clientsIn(files)) if (!known.has(kind)) addHint(guess, kind, says);
  return guess;
}

/** The first file counts that names a service with this name or kind. */
function addTable(guess: GuessedServices, service: FoundService): void {
  const { image, source, command, ready } = service;
  const ports = service.ports.map(({ port }) => port);
  const name = toServiceName(service.name, new Set());
  const kind = kindOf(image);
  const isKnown = guess.tables.some(
    (each) => each.name === name || (kind !== undefined && kindOf(String(each.values.image)) === kind),
  );
  if (isKnown) return;
  if (portsOf({ image, ports }).length === 0) {
    guess.notes.push(`${source}: the service ${name} is left out, because its port is not in the file`);
    return;
  }
  const usual = portsOf({ image });
  for (const { port, published } of service.ports)
    if (port !== published)
      guess.notes.push(`${source}: ${published} is not used: tests reach ${name} at port ${port}`);
  guess.tables.push({
    name,
    why: `${source} starts ${image}`,
    values: {
      image,
      ...(command !== undefined && { command }),
      ...withPassword(kind, service.env),
      // Its port says more: during its first start, a database answers such a check before it accepts connections.
      ...(ready !== undefined && usual.length === 0 && { ready }),
      ...(ports.length > 0 && ports.join() !== usual.join() && { ports }),
      ...(service.name !== name && { aliases: [service.name.toLowerCase()] }),
    },
  });
}

/** Images that refuse to start without a password, and a variable for one. */
const PASSWORDS: Partial<Record<Kind, { set: RegExp; preset: Record<string, string> }>> = {
  postgres: { set: /^POSTGRES_(?:PASSWORD|HOST_AUTH_METHOD)/, preset: { POSTGRES_PASSWORD: 'postgres' } },
  mysql: {
    set: /^MYSQL_(?:ROOT_PASSWORD|ALLOW_EMPTY_PASSWORD|RANDOM_ROOT)/,
    preset: { MYSQL_ALLOW_EMPTY_PASSWORD: 'yes' },
  },
  mariadb: {
    set: /^(?:MARIADB|MYSQL)_(?:ROOT_PASSWORD|ALLOW_EMPTY|RANDOM_ROOT)/,
    preset: { MARIADB_ALLOW_EMPTY_ROOT_PASSWORD: '1' },
  },
};

function withPassword(kind: Kind | undefined, env: Record<string, string>): { env?: Record<string, string> } {
  const needed = kind === undefined ? undefined : PASSWORDS[kind];
  const isSet = needed === undefined || Object.keys(env).some((name) => needed.set.test(name));
  const all = isSet ? env : { ...env, ...needed.preset };
  return Object.keys(all).length === 0 ? {} : { env: all };
}

/** Names of variables that say where a database is, or how to sign in. */
const OF_DATABASES =
  /(?:^|_)(?:PG[A-Z]*|POSTGRES(?:QL)?|MYSQL|MARIADB|REDIS|VALKEY|MONGO(?:DB)?|DB|DATABASE|AMQP|RABBITMQ)(?:_|$)/;

function addEnv(guess: GuessedServices, path: string, env: Record<string, string>, names: readonly string[]): void {
  const leads = new RegExp(
    `(?:^|[/@=])(?:localhost|127\\.0\\.0\\.1|${names.map((name) => name.replace(/[^\w-]/g, '.')).join('|')})(?:[:/?]|$)`,
  );
  const found = Object.entries(env).filter(
    ([name, value]) =>
      /^[A-Za-z_]\w*$/.test(name) && guess.env[name] === undefined && (OF_DATABASES.test(name) || leads.test(value)),
  );
  if (found.length === 0) return;
  Object.assign(guess.env, Object.fromEntries(found));
  guess.envFrom.push(path);
}

/** Returns the images of its services. */
function addCompose(guess: GuessedServices, files: ReadonlyMap<string, string>): string[] {
  const path = COMPOSE_FILES.find((name) => files.get(name) !== undefined);
  const text = path === undefined ? undefined : files.get(path);
  if (path === undefined || text === undefined) return [];
  const { services, leftOut, problems } = readCompose(text);
  const [problem] = problems;
  if (problem !== undefined) {
    guess.notes.push(`${path} is not used for services: line ${problem.line}: ${problem.says}`);
    return [];
  }
  const names = Object.keys(toServices(services).table);
  guess.compose = { path, names };
  const reached = services.flatMap(({ name, aliases }) => [name, ...aliases]);
  for (const { env } of leftOut) addEnv(guess, path, env, reached);
  return services.map(({ image }) => image);
}

/** The database of a Django project. */
function findDjango(files: ReadonlyMap<string, string>): DjangoDatabase | undefined {
  const paths = settingsPaths(files.get('manage.py') ?? '');
  return paths.flatMap((path) => databaseOf(path, files.get(path) ?? '') ?? [])[0];
}

function addDjango(guess: GuessedServices, { kind, path, env, variables, host, notes }: DjangoDatabase): void {
  guess.tables.push({
    name: host ?? kind,
    why: `the tests of Django use the ${TITLES[kind]} of ${path}`,
    values: { image: HINTS[kind], ...withPassword(kind, env) },
  });
  Object.assign(guess.env, { ...variables, ...guess.env });
  if (Object.keys(variables).length > 0) guess.envFrom.push(path);
  guess.notes.push(...notes);
}

/** Only a comment: the gates may fill their database themselves. */
function addPrepare({ tables }: GuessedServices, files: ReadonlyMap<string, string>): void {
  const table = tables.find(({ values }) => MIGRATED.includes(kindOf(String(values.image))));
  const found = migrationsOf(files);
  if (table === undefined || found === undefined) return;
  const { command, files: decisive, says } = found;
  table.maybe = {
    values: { prepare: [command], ...(decisive !== undefined && { prepare_files: decisive }) },
    why: `${says}: unless the gates run it, it can run once for all of them`,
  };
}

const MIGRATED: (Kind | undefined)[] = ['postgres', 'mysql', 'mariadb'];

const TITLES: Record<Kind, string> = {
  postgres: 'PostgreSQL',
  mysql: 'MySQL',
  mariadb: 'MariaDB',
  redis: 'Redis',
  mongo: 'MongoDB',
};

/** Images for a hint. */
const HINTS: Record<Kind, string> = {
  postgres: 'postgres:17',
  mysql: 'mysql:8.4',
  mariadb: 'mariadb:11.4',
  redis: 'redis:7',
  mongo: 'mongo:7',
};

function addHint(guess: GuessedServices, kind: Kind, says: string): void {
  const image = HINTS[kind];
  guess.tables.push({ name: kind, why: says, values: { image, ...withPassword(kind, {}) }, isOff: true });
}

/** The kind of database that an image has, by its name. */
function kindOf(image: string): Kind | undefined {
  return KINDS.find(([pattern]) => pattern.test(baseName(image)))?.[1];
}

const KINDS: [RegExp, Kind][] = [
  [/postg|pgvector|timescale/, 'postgres'],
  [/mariadb/, 'mariadb'],
  [/mysql|percona/, 'mysql'],
  [/redis|valkey|keydb/, 'redis'],
  [/mongo/, 'mongo'],
];
