import { join } from 'node:path';
import { readSecret, type Env } from '../../config/environment/host.ts';
import { readConfigFile } from '../../config/load/config-file.ts';
import { resolveConfig } from '../../config/resolve.ts';
import type { IssueSource } from '../../core/issues/issue-source.ts';
import type { Forge, Issue } from '../../forge/forge.ts';
import { openForge } from '../../forge/open-forge.ts';
import type { Masker } from '../../lib/secrets/masker.ts';

/** What opening a forge needs; its token never leaves this process except to the forge. */
export interface ForgeContext {
  home: string;
  env: Env;
  masker: Masker;
}

/** Opens the forge of a source with the settings of this machine, and teaches the masker the token. Throws CONFIG_INVALID. */
export async function openSource({ home, env, masker }: ForgeContext, source: IssueSource): Promise<Forge> {
  const { forges } = resolveConfig({ home: await readConfigFile(join(home, 'config.toml')), cwd: home });
  const { url, token_env: tokenEnv } = forges[source.forge];
  const token = tokenEnv === undefined ? undefined : readSecret(env, tokenEnv)?.trim();
  masker.learn([token ?? '']);
  return openForge(source, { url, tokenEnv, token });
}

/**
 * Reads the open issues of a source, and those of `known` that are not among them, because they were closed or lost their
 * label. The latter count as closed. Throws FORGE_FAILED.
 */
export async function readIssues(forge: Forge, source: IssueSource, known: readonly number[] = []): Promise<Issue[]> {
  const open = await forge.listIssues(source.label);
  const missing = known.filter((number) => !open.some((issue) => issue.number === number));
  const others = await Promise.all(missing.map((number) => forge.findIssue(number)));
  return [...open, ...others.flatMap((issue) => (issue === undefined || !issue.isClosed ? [] : [issue]))];
}
