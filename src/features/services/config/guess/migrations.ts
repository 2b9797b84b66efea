/** A command that fills an empty database, and the files that decide its effect; undefined: halo cannot say which. */
export interface Migrations {
  command: string;
  files: string[] | undefined;
  says: string;
}

/** Files, other than manifests, that say how a repository fills its database. */
export const MIGRATION_FILES = ['alembic.ini', 'drizzle.config.ts', 'knexfile.js', 'knexfile.ts', 'db/schema.rb'];

/** Scripts of package.json, such as `migrate`, `db:migrate`, `migration:run`, `migrate:up`. */
const SCRIPTS = /^(?:(?:db|database|prisma)[:-])?(?:migrate|migrations?[:-]run)(?:[:-](?:up|deploy|latest))?$/;

/** The command with which the database of a repository gets its tables, by a script of its own or the files of its tool. */
export function migrationsOf(files: ReadonlyMap<string, string>): Migrations | undefined {
  const { scripts, packages } = readManifest(files.get('package.json'));
  const script = scripts.find((name) => SCRIPTS.test(name));
  if (script !== undefined)
    return { command: `npm run ${script}`, files: undefined, says: `package.json has the script ${script}` };
  if (files.has('prisma/schema.prisma') && (packages.has('prisma') || packages.has('@prisma/client')))
    return { command: 'npx prisma migrate deploy', files: ['prisma/**'], says: 'prisma/schema.prisma is there' };
  if (files.has('drizzle.config.ts') && packages.has('drizzle-kit'))
    return { command: 'npx drizzle-kit migrate', files: ['drizzle.config.ts', 'drizzle/**'], says: 'drizzle.config.ts is there' }; // prettier-ignore
  const knex = ['knexfile.js', 'knexfile.ts'].find((path) => files.has(path));
  if (knex !== undefined && packages.has('knex'))
    return { command: 'npx knex migrate:latest', files: [knex, 'migrations/**'], says: `${knex} is there` };
  const alembic = files.get('alembic.ini');
  if (alembic !== undefined) {
    const folder = /^\s*script_location\s*=\s*(?:%\(here\)s\/)?([\w./-]+?)\/?\s*$/m.exec(alembic)?.[1] ?? 'alembic';
    return { command: 'alembic upgrade head', files: ['alembic.ini', `${folder}/**`], says: 'alembic.ini is there' };
  }
  if (files.has('db/schema.rb'))
    return { command: 'bin/rails db:schema:load', files: ['db/**'], says: 'db/schema.rb is there' };
  return undefined;
}

/** The scripts and packages of a package.json; none if it cannot be read. */
function readManifest(text = '{}'): { scripts: string[]; packages: Set<string> } {
  const namesOf = (group: unknown) => (typeof group === 'object' && group !== null ? Object.keys(group) : []);
  try {
    const { scripts, dependencies, devDependencies } = JSON.parse(text) as Record<string, unknown>;
    return {
      scripts: namesOf(scripts),
      packages: new Set([...namesOf(dependencies), ...namesOf(devDependencies)]),
    };
  } catch {
    return { scripts: [], packages: new Set() };
  }
}
