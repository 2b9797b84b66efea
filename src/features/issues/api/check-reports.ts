import type { Finding } from '../../../api/doctor/doctor-finding.ts';
import type { Env } from '../../../config/environment/host.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { IssueReportFiles } from '../../../store/forge-files.ts';
import { readIssueSettings } from '../../../worker/network/forges.ts';

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
