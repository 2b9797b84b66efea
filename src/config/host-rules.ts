import { join } from 'node:path';
import type { McpRules, ServerRules } from './config.ts';
import { readConfigFile } from './load/config-file.ts';
import { resolveConfig } from './resolve.ts';

/**
 * Reads `[mcp]` from config.toml of a HALO_HOME, the only place that may set it: not the file of a repository, not a
 * variable and not a request. Throws CONFIG_INVALID.
 */
export async function readMcpRules(home: string): Promise<McpRules> {
  return (await readHostFile(home)).mcp;
}

/** Reads `[server]` from the same file. Throws CONFIG_INVALID. */
export async function readServerRules(home: string): Promise<ServerRules> {
  return (await readHostFile(home)).server;
}

async function readHostFile(home: string) {
  const file = await readConfigFile(join(home, 'config.toml'));
  return resolveConfig({ home: file, cwd: '/' });
}
