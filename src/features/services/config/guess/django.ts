import type { Kind } from './database-clients.ts';

/** The database of a Django project, which its tests need. */
export interface DjangoDatabase {
  kind: Kind;
  /** The settings file that names it. */
  path: string;
  /** Variables that make the image create what the settings name. */
  env: Record<string, string>;
  /** Variables that the settings read without a default. */
  variables: Record<string, string>;
  /** A name of the database server other than this machine. */
  host?: string;
  notes: string[];
}

/** The path of the settings of a Django project, as its `manage.py` names them, and of the base that they often import. */
export function settingsPaths(manage: string): string[] {
  const named = /DJANGO_SETTINGS_MODULE["'],\s*["']([A-Za-z_][\w.]{0,100})["']/.exec(manage)?.[1];
  if (named === undefined) return [];
  const path = named.replaceAll('.', '/');
  const base = path.replace(/[^/]*$/, 'base');
  return [...new Set([`${path}.py`, `${path}/__init__.py`, `${path}/base.py`, `${base}.py`])];
}

const ENGINES: [RegExp, Kind][] = [
  [/^django\.(?:contrib\.gis\.)?db\.backends\.(?:postgresql(?:_psycopg2)?|postgis)$/, 'postgres'],
  [/^django\.(?:contrib\.gis\.)?db\.backends\.mysql$/, 'mysql'],
];

/** What the image reads, and what Django has for it if the settings leave it to the environment. */
const IMAGES: Partial<Record<Kind, { names: Record<string, string>; preset: Record<string, string> }>> = {
  postgres: {
    names: { NAME: 'POSTGRES_DB', USER: 'POSTGRES_USER', PASSWORD: 'POSTGRES_PASSWORD' },
    preset: { NAME: 'postgres', USER: 'postgres', PASSWORD: 'postgres', PORT: '5432' },
  },
  mysql: {
    names: { NAME: 'MYSQL_DATABASE', PASSWORD: 'MYSQL_ROOT_PASSWORD' },
    preset: { NAME: 'django', USER: 'root', PASSWORD: 'mysql', PORT: '3306' },
  },
};

/** The database in `DATABASES` of the settings, unless they have several engines, such as SQLite for tests. */
export function databaseOf(path: string, settings: string): DjangoDatabase | undefined {
  const text = settings.replace(/^\s*#.*$/gm, '');
  const engines = new Set(
    [...text.matchAll(/["']ENGINE["']\s*:\s*["']([\w.]{1,100})["']/g)].map((each) => each[1] ?? ''),
  );
  const [engine = ''] = engines;
  const kind = ENGINES.find(([pattern]) => pattern.test(engine))?.[1];
  const image = kind && IMAGES[kind];
  if (engines.size !== 1 || kind === undefined || image === undefined) return undefined;
  const found: DjangoDatabase = { kind, path, env: {}, variables: {}, notes: [] };
  for (const [field, preset] of Object.entries({ ...image.preset, HOST: 'localhost' })) {
    const { value, variable } = readField(text, field);
    if (variable !== undefined && value === undefined) found.variables[variable] = preset;
    const used = value ?? (variable === undefined ? undefined : preset);
    const name = image.names[field];
    if (used !== undefined && used !== '' && name !== undefined) found.env[name] = used;
    if (field === 'HOST' && !/^(?:localhost|127\.0\.0\.1)$/.test(used ?? '')) addHost(found, used ?? '');
    if (field === 'PORT' && used !== undefined && used !== '' && used !== preset)
      found.notes.push(`${path}: PORT is ${used}, but the database has ${preset}`);
    if (field === 'USER' && kind === 'mysql' && used !== undefined && used !== 'root')
      found.notes.push(`${path}: USER is ${used}, but only root may create the database of the tests`);
  }
  return found;
}

function addHost(found: DjangoDatabase, host: string): void {
  if (/^[a-z][a-z0-9-]{0,38}$/.test(host)) found.host = host;
  else found.notes.push(`${found.path}: HOST must be localhost; without it, Django looks for a socket file`);
}

/** `"NAME": "shop"`, `os.environ["X"]`, `os.getenv("X", "shop")`, `env("X", default="shop")`, a number. */
function readField(text: string, field: string): { value?: string; variable?: string } {
  const at = new RegExp(`["']${field}["']\\s*:\\s*`).exec(text);
  if (at === null) return {};
  const rest = text.slice(at.index + at[0].length, at.index + at[0].length + 300);
  const literal = /^(?:["']([^"'\n]*)["']|(\d+))\s*[,}\n]/.exec(rest);
  if (literal !== null) return { value: literal[1] ?? literal[2] ?? '' };
  const read = /^[\w.]+[([]\s*["'](\w{1,100})["']\s*(?:,\s*(?:default\s*=\s*)?["']?([^"'()\n]*)["']?\s*)?[)\]]/.exec(
    rest,
  );
  if (read === null) return {};
  return { variable: read[1] ?? '', ...(read[2] !== undefined && { value: read[2] }) };
}
