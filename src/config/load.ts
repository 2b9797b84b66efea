import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse as parseToml, TomlError } from 'smol-toml';
import { HaloError } from '../core/errors.ts';

/** A configuration file as it was read. */
export interface ConfigFile {
  /** Absolute. */
  path: string;
  text: string;
  table: Record<string, unknown>;
}

/** Reads a configuration file; undefined when there is none. Throws CONFIG_INVALID with line and column. */
export async function readConfigFile(path: string): Promise<ConfigFile | undefined> {
  const text = await readText(path);
  return text === undefined ? undefined : parseConfigFile(path, text);
}

/** The file of a repository: `halo.toml` or `.halo/config.toml` in its root. Both at once are refused. */
export async function findRepoConfig(root: string): Promise<ConfigFile | undefined> {
  const plain = await readConfigFile(join(root, 'halo.toml'));
  const hidden = await readConfigFile(join(root, '.halo', 'config.toml'));
  if (plain !== undefined && hidden !== undefined) {
    throw new HaloError('CONFIG_INVALID', `There are two configuration files: ${plain.path} and ${hidden.path}`, {
      hint: 'Keep one of them.',
    });
  }
  return plain ?? hidden;
}

/** Parses the text of a configuration file, e.g. of one that is in git only. Throws CONFIG_INVALID. */
export function parseConfigFile(path: string, text: string): ConfigFile {
  try {
    return { path, text, table: parseToml(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = 'syntax error'] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
    throw new HaloError('CONFIG_INVALID', `${path}:${error.line}:${error.column}: not valid TOML: ${what}`, {
      hint: 'Mend the syntax there; strings need quotes.',
      cause: error,
    });
  }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new HaloError('CONFIG_INVALID', `${path} cannot be read (${code ?? 'unknown error'})`, {
      hint: 'Check its permissions, and that it is a file.',
      cause: error,
    });
  }
}
