import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { readSecret, type Env } from '../../config/environment/host.ts';
import { readConfigFile } from '../../config/load/config-file.ts';
import { resolveConfig } from '../../config/resolve.ts';
import type { IssueSource } from '../../core/issues/issue-source.ts';
import type { Forge } from '../../forge/forge.ts';
import { openForge, type ForgeAddress } from '../../forge/open-forge.ts';
import { openMachineConnections } from '../network/machine-connections.ts';
import type { Masker } from '../../lib/secrets/masker.ts';

/** What opening a forge needs; its token never leaves this process except to the forge. */
export interface ForgeContext {
  home: string;
  env: Env;
  masker: Masker;
}

/** How long requests may take; by default, as long as rate limits and repeated requests need. */
export type ForgePatience = Pick<ForgeAddress, 'maxWaitMs' | 'requestMs' | 'maxTries'>;

/** Opens the forge of a source with the settings of this machine, and registers the token with the masker. Throws CONFIG_INVALID. */
export async function openIssueSource(
  { home, env, masker }: ForgeContext,
  source: IssueSource,
  patience: ForgePatience = {},
): Promise<Forge> {
  const { forges, config } = resolveConfig({ home: await readConfigFile(join(home, 'config.toml')), cwd: home });
  const { url, token_env: tokenEnv } = forges[source.forge];
  const token = tokenEnv === undefined ? undefined : readSecret(env, tokenEnv)?.trim();
  masker.learn([token ?? '']);
  const connections = await openMachineConnections(env, config.network.caFile);
  return openForge(source, { url, tokenEnv, token, connections, ...patience });
}

/** The settings `[issues]` of this machine. Throws CONFIG_INVALID. */
export async function readIssueSettings({ home, env }: Omit<ForgeContext, 'masker'>): Promise<Config['issues']> {
  const file = await readConfigFile(join(home, 'config.toml'));
  return resolveConfig({ home: file, env, set: [], cwd: home }).config.issues;
}
