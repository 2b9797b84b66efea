import { join } from 'node:path';
import type { FleetLimits } from '../core/run/fleet-limit.ts';
import type { Config, Settings } from './config.ts';
import type { Env } from './environment/host.ts';
import { parseConfigFile, readConfigText } from './load/config-file.ts';
import { readHomeFiles } from './load/home-files.ts';
import { resolveConfig, type ResolvedConfig } from './resolve.ts';

/**
 * Reads `[mcp]` from config.toml of a HALO_HOME, the only place that may set it: not the file of a repository, not a
 * variable and not a request. Throws CONFIG_INVALID.
 */
export async function readMcpRules(home: string): Promise<Settings['mcp']> {
  return (await readHostFile(home)).mcp;
}

/** Reads `[server]` from the same file. Throws CONFIG_INVALID. */
export async function readServerRules(home: string): Promise<Settings['server']> {
  return (await readHostFile(home)).server;
}

/** Reads `network.ca_file` from the same file: certificate authorities of this machine. Throws CONFIG_INVALID. */
export async function readCaFile(home: string): Promise<string | undefined> {
  return (await readHostFile(home)).config.network.caFile;
}

/** What the settings of this machine are: its config.toml, and the variables in `env` over it. Throws CONFIG_INVALID. */
export async function readMachineConfig({ home, env }: { home: string; env: Env }): Promise<Config> {
  return resolveConfig({ ...(await readHomeFiles(home)), env, cwd: home }).config;
}

/**
 * Reads `[fleet]` from the same file; asked for before each start of a story, so that all processes of a HALO_HOME use the
 * same limits after a change. Throws CONFIG_INVALID.
 */
export async function readFleetLimits(home: string): Promise<FleetLimits> {
  return (await readHostFile(home)).fleet;
}

/**
 * Reads `[[engines]]` from the same file; asked for whenever it matters, so that a change applies to running workers. Throws
 * CONFIG_INVALID.
 */
export async function readEngines(home: string): Promise<Settings['engines']> {
  return (await readHostFile(home)).engines;
}

let known: { text: string | undefined; path: string; resolved: ResolvedConfig } | undefined;

/**
 * What config.toml of HALO_HOME says alone, without prices, resolved once for each text: it is asked for many times. Throws
 * CONFIG_INVALID.
 */
export async function readHostFile(home: string): Promise<ResolvedConfig> {
  const path = join(home, 'config.toml');
  const text = await readConfigText(path);
  if (known?.path !== path || known.text !== text) {
    const file = text === undefined ? undefined : parseConfigFile(path, text);
    known = { path, text, resolved: resolveConfig({ home: file, models: 'unused', cwd: '/' }) };
  }
  return known.resolved;
}
