import { join } from 'node:path';
import type { McpRules } from './config.ts';
import { readConfigFile } from './load/config-file.ts';
import { resolveConfig } from './resolve.ts';

/**
 * Reads `[mcp]` from config.toml of a HALO_HOME, the only place that may set it: not the file of a repository, not a
 * variable and not a request. Throws CONFIG_INVALID.
 */
export async function readMcpRules(home: string): Promise<McpRules> {
  const file = await readConfigFile(join(home, 'config.toml'));
  return resolveConfig({ home: file, cwd: '/' }).mcp;
}
