import type { Config } from '../../config/config.ts';
import { readSecret, type Env } from '../../config/environment/host.ts';
import { readHostFile, readMachineConfig } from '../../config/host-rules.ts';
import { FORGES, type ForgeName } from '../../core/forge-name.ts';
import type { IssueSource } from '../../core/issues/issue-source.ts';
import type { Forge } from '../../forge/forge.ts';
import { gitUrlOf, openForge, type ForgeAddress } from '../../forge/open-forge.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import { openMachineConnections } from './machine-connections.ts';

/** What opening a forge needs; its token never leaves this process except to the forge. */
export interface ForgeContext {
  home: string;
  env: Env;
  masker: Masker;
}

/** How long requests may take; by default, as long as rate limits and repeated requests need. */
export type ForgePatience = Pick<ForgeAddress, 'maxWaitMs' | 'requestMs' | 'maxTries'>;

/** In a worker: what fails is tried again later, so that no request waits while other work does. */
export const WORKER_PATIENCE: ForgePatience = { maxTries: 2, maxWaitMs: 5_000 };

/** Opens the forge of a source with the settings of this machine, and registers the token with the masker. Throws CONFIG_INVALID. */
export async function openIssueSource(
  context: ForgeContext,
  source: IssueSource,
  patience: ForgePatience = {},
): Promise<Forge> {
  const { settingsOf, caFile } = await readForges(context);
  const connections = await openMachineConnections(context.env, caFile);
  return openForge(source, { ...settingsOf(source.forge), connections, ...patience });
}

/** How to reach a forge, without the connections. */
export type ForgeLogin = Omit<ForgeAddress, 'connections' | 'signal' | keyof ForgePatience>;

/** The forges in the settings of this machine. */
interface ConfiguredForges {
  /** Base URLs of their repositories. */
  gitUrls: Partial<Record<ForgeName, string | undefined>>;
  /** The settings of one of them. Registers its token with the masker. */
  settingsOf(this: void, forge: ForgeName): ForgeLogin;
  /** The file with the certificate authorities of this machine. */
  caFile: string | undefined;
}

/** Throws CONFIG_INVALID. */
export async function readForges({ home, env, masker }: ForgeContext): Promise<ConfiguredForges> {
  const { forge: forges, config } = await readHostFile(home);
  return {
    gitUrls: Object.fromEntries(FORGES.map((name) => [name, gitUrlOf(name, forges[name])])),
    settingsOf(forge) {
      const { url, tokenEnv } = forges[forge];
      const token = tokenEnv === undefined ? undefined : readSecret(env, tokenEnv)?.trim();
      masker.learn([token ?? '']);
      return { url, tokenEnv, token };
    },
    caFile: config.network.caFile,
  };
}

/** The settings `[issues]` of this machine. Throws CONFIG_INVALID. */
export async function readIssueSettings({ home, env }: Omit<ForgeContext, 'masker'>): Promise<Config['issues']> {
  return (await readMachineConfig({ home, env })).issues;
}
