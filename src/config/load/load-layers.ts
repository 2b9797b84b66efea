import { HaloError } from '../../core/failure/errors.ts';
import { findClosest } from '../../lib/text.ts';
import type { Layer } from '../layer.ts';
import type { Setting } from '../settings.ts';
import type { ConfigFile } from './config-file.ts';
import { readFileLayers, readOptions, readVariables, type FileLayers } from './file-layers.ts';

/** All sources of settings. */
export interface ConfigSources {
  /** `<HALO_HOME>/config.toml` */
  home?: ConfigFile | undefined;
  /** The repository's file. */
  repo?: ConfigFile | undefined;
  /** `--profile`; defaults to HALO_PROFILE. */
  profile?: string | undefined;
  env?: Record<string, string | undefined>;
  /** `-c key=value` options, in order. */
  set?: string[];
  /** True if the `-c` options come from another machine. */
  remote?: boolean;
  /** Absolute folder that relative paths in variables and options are resolved against. */
  cwd: string;
}

export interface LoadedLayers {
  /** Files, profile and environment; later layers take precedence. */
  standing: Layer[];
  /** The `-c` options, which take precedence over the standing layers. */
  options: Layer;
  problems: string[];
}

/** Reads all sources into layers, with one line per invalid setting. Throws CONFIG_INVALID for an unknown profile, USAGE for a malformed `-c`. */
export function loadLayers({ home, repo, profile, env = {}, set = [], cwd }: ConfigSources): LoadedLayers {
  const problems: string[] = [];
  const files = [home, repo].flatMap((file) =>
    file ? [{ ...readFileLayers(file, problems), trusted: file !== repo }] : [],
  );
  const own = (settings: Setting[]): Layer => ({ settings, trusted: true });
  const options = own(readOptions(set, cwd, problems));
  const standing = [
    ...files.map(({ base, trusted }) => ({ settings: base, trusted })),
    ...pickProfile(files, profile ?? env.HALO_PROFILE),
    own(readVariables(env, cwd, problems)),
  ];
  return { standing, options, problems };
}

function pickProfile(files: (FileLayers & { trusted: boolean })[], name: string | undefined): Layer[] {
  if (name === undefined || name === '') return [];
  const chosen = files.map(({ profiles, trusted }) => ({ settings: profiles.get(name) ?? [], trusted }));
  if (files.some(({ profiles }) => profiles.has(name))) return chosen;
  const known = [...new Set(files.flatMap(({ profiles }) => [...profiles.keys()]))];
  const meant = findClosest(name, known);
  throw new HaloError('CONFIG_INVALID', `There is no profile "${name}"${meant ? `; did you mean "${meant}"?` : '.'}`, {
    hint:
      known.length === 0
        ? 'Define [profiles.<name>] in a configuration file first.'
        : `Use one of these profiles: ${known.join(', ')}.`,
  });
}
