import { posix } from 'node:path';
import type { ConfigFile } from '../../../config/load/config-file.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { isRecord } from '../../../lib/guards.ts';
import { readCompose } from '../config/compose/read-compose.ts';
import { MAX_YAML_BYTES } from '../config/compose/read-yaml.ts';
import { toServices } from '../config/compose/to-services.ts';

/**
 * Replaces `services = "compose.yaml"` in the file of a repository, and in its profiles, by the services of that file. `read`
 * returns the text of a file of the repository. Throws CONFIG_INVALID for what halo does not support, with its line; of a
 * profile, only its use throws that.
 */
export async function takeComposeServices(
  file: ConfigFile,
  read: (path: string, maxBytes: number) => Promise<string | undefined>,
): Promise<ConfigFile> {
  const { profiles, ...own } = file.table;
  const tables = [[undefined, own] as const, ...Object.entries(isRecord(profiles) ? profiles : {})];
  let whole = file;
  for (const [profile, table] of tables) {
    if (!isRecord(table) || typeof table.services !== 'string') continue;
    const taken = await readFileOf(file, { path: table.services, read }).catch((error: unknown) => {
      if (profile === undefined || !(error instanceof HaloError && error.code === 'CONFIG_INVALID')) throw error;
      return error;
    });
    if (taken instanceof HaloError) {
      const unusable = new Map([...(whole.unusable ?? []), [profile ?? '', taken] as const]);
      whole = { ...whole, table: withServices(whole.table, profile, {}), unusable };
      continue;
    }
    const prefix = profile === undefined ? '' : `profiles.${profile}.`;
    whole = {
      ...whole,
      table: withServices(whole.table, profile, taken.table),
      elsewhere: new Map([
        ...(whole.elsewhere ?? []),
        ...taken.lines.map(([name, at]) => [`${prefix}services.${name}`, at] as const),
      ]),
      parts: [...(whole.parts ?? []), { path: taken.path, setting: `${prefix}services` }],
      notes: [...(whole.notes ?? []), ...taken.notes],
    };
  }
  return whole;
}

function withServices(
  table: Record<string, unknown>,
  name: string | undefined,
  services: object,
): Record<string, unknown> {
  const profiles = table.profiles as Record<string, object> | undefined;
  return name === undefined
    ? { ...table, services }
    : { ...table, profiles: { ...profiles, [name]: { ...profiles?.[name], services } } };
}

interface Taken {
  path: string;
  table: Record<string, object>;
  /** The place of each service. */
  lines: [name: string, at: string][];
  notes: string[];
}

async function readFileOf(
  { path: from }: ConfigFile,
  { path: written, read }: { path: string; read: (path: string, maxBytes: number) => Promise<string | undefined> },
): Promise<Taken> {
  const path = posix.normalize(written);
  if (written === '' || posix.isAbsolute(path) || path.split('/')[0] === '..' || /[\0:\n]/.test(path))
    throw new HaloError(
      'CONFIG_INVALID',
      `${from}: The value of services, ${JSON.stringify(written)}, is not a path in the repository.`,
      {
        hint: 'Name a compose file by its path from the top of the repository, such as "compose.yaml".',
      },
    );
  const text = await read(path, MAX_YAML_BYTES);
  if (text === undefined)
    throw new HaloError(
      'CONFIG_INVALID',
      `${from}: The file of services, ${JSON.stringify(path)}, is not in the repository.`,
      {
        hint: 'Name a compose file by its path from the top of the repository, or define [services.<name>].',
      },
    );
  const { services, problems, notes } = readCompose(text);
  if (problems.length > 0)
    throw new HaloError('CONFIG_INVALID', problems.map(({ line, says }) => `${path}:${line}: ${says}`).join('\n'), {
      hint: `Change ${path}, or define [services.<name>] in halo.toml instead (docs/services.md).`,
    });
  const { table, lines } = toServices(services);
  return {
    path,
    table,
    lines: [...lines].map(([name, line]) => [name, `${path}:${line}`]),
    notes: notes.map(({ line, says }) => `${path}:${line}: ${says}.`),
  };
}
