import { findPushTarget } from '../../../core/pulls/forge-project.ts';
import { formatIssueSource, parseIssueSource, type IssueSource } from '../../../core/issues/issue-source.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import type { PrdFile } from '../../../core/prd/prd.ts';
import { issuesToPrd, priorityLabels } from '../forge/issues-to-prd.ts';
import type { Config } from '../../../config/config.ts';
import type { Issue } from '../../../forge/forge.ts';
import { findOriginUrl } from '../../../git/repository/inspect-repo.ts';
import { isUrl, parseRemote } from '../../../git/repository/repo-url.ts';
import { IssueRuns } from '../../../store/forge-files.ts';
import { openStore } from '../../../store/store.ts';
import { readForges, readIssueSettings } from '../../../worker/network/forges.ts';
import type { BatchRequest, Submitted } from '../../../api/operations/schemas.ts';
import { submitOnce } from '../../../api/submit/idempotent-submit.ts';
import type { SubmitContext } from '../../../api/submit/submit-context.ts';
import { submitBatch } from '../../../api/submit/submit-runs.ts';
import type { IssuesRequest } from './issues-request.ts';
import { selectIssues } from './select-issues.ts';

/**
 * Creates a run of the open issues with a label, without those that a run works on or has landed. Throws USAGE, FORGE_FAILED,
 * and NOTHING_RUNNABLE if no issue is left.
 */
export async function submitIssues(
  context: SubmitContext,
  { source: text, label, repo, again = false, key, ...options }: IssuesRequest,
): Promise<Submitted[]> {
  const { issues, settings, runs } = await openSource(context, { text, label, repo, remote: options.remote });
  await assertMayUseIssues(context, { issues, repo });
  const request = (prd: PrdFile): BatchRequest => ({
    ...options,
    issues,
    members: [{ name: repo, repo, prd, deps: [] }],
  });
  const submit = (announce: (submitted: Submitted[]) => Promise<void>) =>
    runs.exclusively(async () => {
      const { found, known, notes } = await selectIssues(context, { issues, runs, settings, again, ...options });
      const prd = toPrd(issues, found, settings);
      const submitted = await submitBatch(context, request(prd), async (announced) => {
        await runs.write([...known, ...announced.map(({ runId }) => runId)]);
        await announce(announced);
      });
      return submitted.map((run) => ({ ...run, warnings: [...notes, ...run.warnings] }));
    });
  if (key === undefined) return submit(() => Promise.resolve());
  // The issues of a repeated submit may be others: the first one works on them.
  const asked = request({ path: formatIssueSource(issues), bytes: new Uint8Array() });
  return submitOnce(context, { key, request: asked }, submit);
}

/** The issues that a submit would work on, as a PRD, and which ones it would leave out. Throws what a submit throws. */
export async function previewIssues(
  from: Pick<SubmitContext, 'host' | 'env' | 'masker'>,
  { source: text, label, repo, again = false }: Pick<IssuesRequest, 'source' | 'label' | 'repo' | 'again'>,
): Promise<{ prd: PrdFile; notes: string[] }> {
  const context = { ...from, store: openStore(from.host.home, { transcribe: () => [], masker: from.masker }) };
  const { issues, settings, runs } = await openSource(context, { text, label, repo });
  return runs.exclusively(async () => {
    const { found, notes } = await selectIssues(context, { issues, runs, settings, again });
    return { prd: toPrd(issues, found, settings), notes };
  });
}

function toPrd(issues: IssueSource, found: readonly Issue[], settings: Config['issues']): PrdFile {
  return issuesToPrd(issues, found, settings.priorityLabels ?? priorityLabels(issues.label));
}

interface Named {
  text: string;
  label: string | undefined;
  repo: string;
  remote?: boolean | undefined;
}

/** The issues that a request names, with the settings and the known runs of their project. Throws USAGE. */
async function openSource({ host, env }: Pick<SubmitContext, 'host' | 'env'>, named: Named) {
  const settings = await readIssueSettings({ home: host.home, env });
  const issues = await resolveSource({ ...named, label: named.label ?? settings.label });
  return { issues, settings, runs: new IssueRuns(host.home, issues) };
}

/**
 * A user with a list of repositories works on the issues of these: the project is that of the submitted address, or its
 * address is on the list. A folder is not asked for its remotes, which who may write to it can change. Throws ACCESS_DENIED.
 */
async function assertMayUseIssues(
  { assertMayUse, host: { home }, env, masker }: SubmitContext,
  { issues: { forge, project }, repo }: { issues: IssueSource; repo: string },
): Promise<void> {
  if (assertMayUse === undefined) return;
  const { gitUrls } = await readForges({ home, env, masker });
  const own = isUrl(repo) ? parseRemote(repo).address : undefined;
  if (own !== undefined) assertMayUse(own);
  const found = own === undefined ? undefined : findPushTarget(own, gitUrls);
  if (found?.forge !== forge || found.project !== project) assertMayUse(`${gitUrls[forge] ?? forge}/${project}`);
}

async function resolveSource({ text, label, repo, remote = false }: Named & { label: string }): Promise<IssueSource> {
  if (label === '' || label.includes(',') || label.length > 100)
    throw new HaloError('USAGE', 'The label of the issues is empty, has a comma, or is longer than 100 characters.', {
      hint: 'Name one label, as in `--label halo`.',
    });
  // A request over the network must not learn the remotes of a repository of this machine.
  const isNamed = text.includes(':') || (remote && !isUrl(repo));
  const url = isNamed ? undefined : isUrl(repo) ? repo : await findOriginUrl(repo);
  return parseIssueSource(text, { label, remote: url });
}
