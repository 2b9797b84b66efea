import { z } from 'zod';
import { memberName } from './camel-case.ts';
import { keyMetadata, type KeyMetadata } from './schema/key-metadata.ts';
import { HaloToml } from './schema/halo-toml.ts';
import { didYouMean, findClosest } from '../core/text/did-you-mean.ts';

/** One key of the configuration, by its dotted name. */
interface ConfigKey extends KeyMetadata {
  name: string;
  schema: z.ZodType;
}

/** Every key, in the order of the schema. */
export const CONFIG_KEYS: ReadonlyMap<string, ConfigKey> = new Map(
  listKeys(HaloToml, '').map((key) => [key.name, key] as const),
);

/** Tables with user-defined member names; each member is a separate setting. */
export const OPEN_TABLES: readonly string[] = [...CONFIG_KEYS.values()].flatMap(({ name, kind }) =>
  kind === 'table' ? [name] : [],
);

/** The agents with settings of their own. */
const OWN_AGENTS = [...CONFIG_KEYS.keys()].flatMap((name) => /^agents\.(\w+)/.exec(name)?.[1] ?? []);

/** The key that a dotted name in a file or option stands for: `agents.qwen` is the member `qwen` of `agents.acp`. */
export function keyNamed(name: string): string {
  const [, agent = '', rest = ''] = /^agents\.([^.]+)(.*)$/.exec(name) ?? [];
  return agent === '' || OWN_AGENTS.includes(agent) ? name : `agents.acp.${agent}${rest}`;
}

/** Splits the dotted name of a member of an open table. The member name may contain dots. */
export function openMemberOf(name: string): { table: string; member: string } | undefined {
  if (CONFIG_KEYS.has(name)) return undefined;
  const table = OPEN_TABLES.find((open) => name.startsWith(`${open}.`));
  if (table === undefined) return undefined;
  return { table, member: name.slice(table.length + 1).replace(/^(["'])(.*)\1$/, '$2') };
}

/** Splits the dotted name of a field of such a member, as in `rate."gpt-5.5".rph`. Unquoted, the field is the last part. */
export function openFieldOf(
  name: string,
): { table: string; member: string; field: string; quoted: boolean } | undefined {
  const table = OPEN_TABLES.find((open) => name.startsWith(`${open}.`));
  const parts = /^(?:(["'])(.+)\1|(.+))\.([\w-]+)$/.exec(table === undefined ? '' : name.slice(table.length + 1));
  if (table === undefined || parts === null) return undefined;
  const [, quote, inQuotes, plain, field = ''] = parts;
  return { table, member: inQuotes ?? plain ?? '', field, quoted: quote !== undefined };
}

/** True if a dotted name is a table of the configuration. */
export function isTableName(name: string): boolean {
  return [...CONFIG_KEYS.keys()].some((key) => key.startsWith(`${name}.`));
}

/** The environment variable of a key: `limits.max_x` is `HALO_LIMITS_MAX_X`. */
export function variableOf(key: string): string {
  return `HALO_${key.replaceAll('.', '_').toUpperCase()}`;
}

/** Where a setting is in the configuration of a run: `limits.file_size` is `limits.fileBytes`. */
export function placeOf(key: string): string[] {
  const parts = key.split('.');
  return parts.map((part, at) => memberName(part, at === parts.length - 1 ? CONFIG_KEYS.get(key)?.schema : undefined));
}

/** True if values of a key are strings, which need no quotes in `-c` options and environment variables. */
export function holdsText(key: string): boolean {
  if (openMemberOf(key)?.table === 'env') return true;
  return CONFIG_KEYS.get(key)?.kind === 'text';
}

/** The settings of an agent's program that halo passes on; it refuses all others. */
const PASSED_ON = /^agents\.(\w+)\.config\./;

/** Why halo does not pass a setting to an agent's program; undefined for all other keys. */
function describeRefusedOption(name: string): string | undefined {
  const prefix = PASSED_ON.exec(name)?.[0];
  const passed = [...CONFIG_KEYS.keys()].filter((key) => prefix !== undefined && key.startsWith(prefix));
  if (prefix === undefined || passed.length === 0) return undefined;
  const names = passed.map((key) => key.slice(prefix.length));
  const meant = didYouMean(name.slice(prefix.length), names);
  return `halo does not pass this setting to the agent, because it is not on the list of those that cannot change isolation, network, provider, credentials or programs: ${names.join(', ')}${meant}`;
}

/** Returns `unknown key`, with a suggestion if a known key is similar. */
export function describeUnknownKey(name: string): string {
  const refused = describeRefusedOption(name);
  if (refused !== undefined) return refused;
  const last = name.split('.').at(-1) ?? name;
  const known = [...CONFIG_KEYS.keys()];
  const tables = known.flatMap((key) => (key.includes('.') ? [key.slice(0, key.lastIndexOf('.'))] : []));
  const sameEnd = [...tables, ...known].find((key) => key.endsWith(`.${last}`));
  const plain = [...known, ...tables].filter((key) => !key.includes('.'));
  const meant =
    plain.find((key) => key === last) ??
    findClosest(name, plain) ??
    sameEnd ??
    known.find((key) => key.startsWith(`${name}_`)) ??
    findClosest(name, [...known, ...tables]);
  return meant === undefined ? 'unknown key' : `unknown key; did you mean "${meant}"?`;
}

function listKeys(table: z.ZodObject, prefix: string): ConfigKey[] {
  return Object.entries(table.shape).flatMap(([part, member]) => {
    const name = `${prefix}${part}`;
    if (member instanceof z.ZodObject) return listKeys(member, `${name}.`);
    const schema = member as z.ZodType;
    const facts = keyMetadata.get(schema);
    return facts === undefined ? [] : [{ name, schema, ...facts }];
  });
}
