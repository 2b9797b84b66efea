import { join } from 'node:path';
import { readSecret, type Env } from '../../config/environment/host.ts';
import { readConfigFile } from '../../config/load/config-file.ts';
import { resolveConfig } from '../../config/resolve.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import { FORGES, type ForgeName } from '../../core/issues/issue-source.ts';
import { checkToken } from '../../forge/check-token.ts';
import type { ForgeAddress } from '../../forge/open-forge.ts';
import { defined } from '../../lib/guards.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { IssueReportFiles } from '../../store/forge/issue-report-files.ts';
import { openMasker } from '../../lib/secrets/masker.ts';
import { openMachineConnections } from '../../worker/network/machine-connections.ts';
import { readIssueSettings } from '../../worker/issues/open-issue-source.ts';
import type { Finding } from './doctor-finding.ts';

/** Checks every forge that is configured on this machine: its URL, its token, and what the token may do. Throws CONFIG_INVALID. */
export async function checkForges(home: string, env: Env): Promise<Finding[]> {
  const { forges, config } = resolveConfig({ home: await readConfigFile(join(home, 'config.toml')), cwd: home });
  const configured = FORGES.filter((forge) => Object.values(forges[forge]).some((value) => value !== undefined));
  const { report: withReports } = await readIssueSettings({ home, env });
  if (configured.length === 0) return [];
  const connections = await openMachineConnections(env, config.network.caFile);
  return Promise.all(
    configured.map((forge) => {
      const { url, token_env: tokenEnv } = forges[forge];
      const token = tokenEnv === undefined ? undefined : readSecret(env, tokenEnv)?.trim();
      return checkForge(forge, { url, tokenEnv, token, withReports, connections });
    }),
  );
}

/** Checks whether reports to issues wait because a forge refuses them. Throws CONFIG_INVALID. */
export async function checkReports(home: string, env: Env): Promise<Finding[]> {
  const files = new IssueReportFiles(home);
  const { report } = await readIssueSettings({ home, env });
  const runIds = report ? await files.runIds() : [];
  const findings = runIds.map(async (runId): Promise<Finding[]> => {
    const failure = await files.readFailure(runId);
    if (failure === undefined) return [];
    const says = `issues of run ${runId} do not show its progress: ${safeLine(failure.why, 500)}`;
    const fix = `fix the cause; a worker tries again at ${safeLine(failure.retryAt, 30)}`;
    return [{ name: 'reports', ok: 'warn', says, fix }];
  });
  return (await Promise.all(findings)).flat();
}

async function checkForge(forge: ForgeName, address: ForgeAddress & { withReports: boolean }): Promise<Finding> {
  const name = `forge ${forge}`;
  // The forge may repeat the token in its message.
  const masker = openMasker();
  masker.learn([address.token ?? '']);
  try {
    const { baseUrl, missing } = await checkToken(forge, address);
    const token = `the token in ${address.tokenEnv}`;
    if (missing === undefined) return { name, ok: 'ok', says: `${baseUrl} accepts ${token}` };
    const fix = 'create a token with this permission, and export it where halo starts';
    return { name, ok: 'warn', says: masker.text(`${token} lacks ${missing}`), fix };
  } catch (error) {
    const { message, hint } = toHaloError(error);
    return { name, ok: 'warn', says: masker.text(message), ...defined({ fix: hint }) };
  }
}
