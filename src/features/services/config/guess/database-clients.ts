/** A database for which a repository has a client, and the file that says so. */
export interface ClientOf {
  kind: Kind;
  says: string;
}

export type Kind = 'postgres' | 'mysql' | 'mariadb' | 'redis' | 'mongo';

/** Packages that speak to one database only. */
const CLIENTS: Record<Kind, { npm: string[]; python: string[]; ruby: string[]; go: string[] }> = {
  postgres: {
    npm: ['pg', 'postgres', 'pg-promise', '@prisma/adapter-pg'],
    python: ['psycopg', 'psycopg2', 'psycopg2-binary', 'asyncpg', 'aiopg', 'pg8000'],
    ruby: ['pg'],
    go: ['github.com/lib/pq', 'github.com/jackc/pgx', 'gorm.io/driver/postgres'],
  },
  mysql: {
    npm: ['mysql', 'mysql2'],
    python: ['mysqlclient', 'pymysql', 'aiomysql', 'mysql-connector-python', 'asyncmy'],
    ruby: ['mysql2', 'trilogy'],
    go: ['github.com/go-sql-driver/mysql', 'gorm.io/driver/mysql'],
  },
  mariadb: { npm: ['mariadb'], python: ['mariadb'], ruby: [], go: [] },
  redis: {
    npm: ['redis', 'ioredis', 'bull', 'bullmq'],
    python: ['redis', 'aioredis', 'django-redis', 'rq', 'hiredis'],
    ruby: ['redis', 'sidekiq', 'resque'],
    go: ['github.com/redis/go-redis', 'github.com/go-redis/redis', 'github.com/gomodule/redigo'],
  },
  mongo: {
    npm: ['mongodb', 'mongoose'],
    python: ['pymongo', 'motor', 'mongoengine'],
    ruby: ['mongoid', 'mongo'],
    go: ['go.mongodb.org/mongo-driver'],
  },
};

const KINDS = Object.keys(CLIENTS) as Kind[];

/** Files, other than those at the top of a repository, that name a database. */
export const DATABASE_FILES = ['prisma/schema.prisma', 'config/database.yml'];

/** The databases for which the files of a repository have a client, each once. */
export function clientsIn(files: ReadonlyMap<string, string>): ClientOf[] {
  const found = [...npmClients(files), ...pythonClients(files), ...listClients(files), ...settings(files)];
  return found.filter(({ kind }, at) => found.findIndex((each) => each.kind === kind) === at);
}

function npmClients(files: ReadonlyMap<string, string>): ClientOf[] {
  const names = packagesIn(files.get('package.json'));
  return KINDS.flatMap((kind) => {
    const name = CLIENTS[kind].npm.find((each) => names.has(each));
    return name === undefined ? [] : [{ kind, says: `package.json has ${name}` }];
  });
}

function packagesIn(text = '{}'): Set<string> {
  try {
    const manifest = JSON.parse(text) as Record<string, unknown>;
    const groups = ['dependencies', 'devDependencies'].map((group) => manifest[group]);
    return new Set(groups.flatMap((group) => (typeof group === 'object' && group !== null ? Object.keys(group) : [])));
  } catch {
    return new Set();
  }
}

function pythonClients(files: ReadonlyMap<string, string>): ClientOf[] {
  const lists = ['requirements.txt', 'requirements-dev.txt', 'pyproject.toml', 'setup.cfg', 'Pipfile'];
  return KINDS.flatMap((kind) => {
    for (const file of lists) {
      const text = files.get(file) ?? '';
      const name = CLIENTS[kind].python.find((each) =>
        new RegExp(`^[ \\t"']*${each}(?:\\[[\\w,-]*\\])?(?:["'\\s<>=~!;,]|$)`, 'im').test(text),
      );
      if (name !== undefined) return [{ kind, says: `${file} has ${name}` }];
    }
    return [];
  });
}

function listClients(files: ReadonlyMap<string, string>): ClientOf[] {
  const gems = files.get('Gemfile') ?? '';
  const modules = files.get('go.mod') ?? '';
  return KINDS.flatMap((kind) => {
    const gem = CLIENTS[kind].ruby.find((each) => new RegExp(`^\\s*gem\\s+["']${each}["']`, 'm').test(gems));
    if (gem !== undefined) return [{ kind, says: `Gemfile has ${gem}` }];
    const module = CLIENTS[kind].go.find((each) => modules.includes(`${each} `) || modules.includes(`${each}/`));
    return module === undefined ? [] : [{ kind, says: `go.mod has ${module}` }];
  });
}

function settings(files: ReadonlyMap<string, string>): ClientOf[] {
  const prisma = /^\s*provider\s*=\s*"(postgresql|mysql|mongodb)"/m.exec(files.get('prisma/schema.prisma') ?? '')?.[1];
  const rails = /^\s*adapter:\s*(postgresql|mysql2|trilogy)\b/m.exec(files.get('config/database.yml') ?? '')?.[1];
  const kindOf = (name: string): Kind =>
    name.startsWith('postgres') ? 'postgres' : name === 'mongodb' ? 'mongo' : 'mysql';
  return [
    ...(prisma === undefined
      ? []
      : [{ kind: kindOf(prisma), says: `prisma/schema.prisma has the provider ${prisma}` }]),
    ...(rails === undefined ? [] : [{ kind: kindOf(rails), says: `config/database.yml has the adapter ${rails}` }]),
  ];
}
