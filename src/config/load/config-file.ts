import { readRegularText, isInside } from '../../lib/fs.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { parse as parseToml, TomlError } from 'smol-toml';
import { join } from 'node:path';

/** A parsed configuration file. */
export interface ConfigFile {
  /** Absolute. */
  path: string;
  text: string;
  table: Record<string, unknown>;
  /** Settings that come from another file of the repository, by their key in `table`, and where they are in it. */
  elsewhere?: ReadonlyMap<string, string>;
  /** Those files, relative to the top of the repository. */
  parts?: readonly { path: string; setting: string }[];
  /** What these files say and halo does not use, one sentence each. */
  notes?: readonly string[];
  /** Why such a file of a profile cannot be used, by the name of the profile, which only matters to those who choose it. */
  unusable?: ReadonlyMap<string, HaloError>;
}

/** Size limit of a configuration file. */
export const MAX_CONFIG_BYTES = 256 * 1024;

/** Reads a configuration file; undefined if it does not exist. Throws CONFIG_INVALID with line and column. */
export async function readConfigFile(path: string): Promise<ConfigFile | undefined> {
  const text = await readConfigText(path);
  return text === undefined ? undefined : parseConfigFile(path, text);
}

/**
 * Finds the configuration file of a repository: `halo.toml` or `.halo/config.toml` in its root. Throws CONFIG_INVALID if
 * both exist or the file is a link that leads out of the repository.
 */
export async function findRepoConfig(root: string): Promise<ConfigFile | undefined> {
  const [plain, hidden] = await Promise.all(
    [['halo.toml'], ['.halo', 'config.toml']].map((names) => readInside(root, join(root, ...names))),
  );
  if (plain !== undefined && hidden !== undefined) {
    throw new HaloError('CONFIG_INVALID', `There are two configuration files: ${plain.path} and ${hidden.path}.`, {
      hint: 'Keep one of them.',
    });
  }
  return plain ?? hidden;
}

/** Parses the text of a configuration file, for example one read from git. Throws CONFIG_INVALID. */
export function parseConfigFile(path: string, text: string): ConfigFile {
  try {
    return { path, text, table: parseToml(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = 'syntax error'] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
    throw new HaloError(
      'CONFIG_INVALID',
      `${path}:${error.line}:${error.column}: The text is not valid TOML: ${what}.`,
      {
        hint: 'Fix the syntax there; strings need quotes.',
        cause: error,
      },
    );
  }
}

async function readInside(root: string, path: string): Promise<ConfigFile | undefined> {
  const config = await readConfigFile(path);
  if (config === undefined || (await isInside(root, path))) return config;
  throw new HaloError('CONFIG_INVALID', `${path} is a link that leads out of the repository.`, {
    hint: 'Replace the link with the file itself.',
  });
}

/** The text of a configuration file; undefined if it does not exist. Throws CONFIG_INVALID. */
export async function readConfigText(path: string, maxBytes = MAX_CONFIG_BYTES): Promise<string | undefined> {
  try {
    return await readRegularText(path, maxBytes);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new HaloError('CONFIG_INVALID', `${path} cannot be read (${code ?? message}).`, {
      hint: 'Check its permissions and that it is a regular file.',
      cause: error,
    });
  }
}
