import { HaloError } from '../../core/failure/errors.ts';
import { formatIssueSource, parseIssueSource, type IssueSource } from '../../core/issues/issue-source.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { issuesToPrd } from '../../forge/issues-to-prd.ts';
import { findOriginUrl } from '../../git/repository/origin-url.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import type { IssuesRequest, Submitted } from '../operations/requests.ts';
import type { SubmitContext } from '../submit/submit-context.ts';
import { openIssueSource, readIssueSettings } from '../../worker/issues/open-issue-source.ts';
import { submitRuns } from '../submit/submit-runs.ts';
import type { Forge, Issue } from '../../forge/forge.ts';

/** Creates a run of the open issues with a label. Throws USAGE, FORGE_FAILED, and PRD_INVALID if there are none. */
export async function submitIssues(
  context: SubmitContext,
  { source: text, label: chosen, repo, ...options }: IssuesRequest,
): Promise<Submitted[]> {
  const { host, env, masker } = context;
  const issues = await readIssueSettings({ home: host.home, env });
  const label = chosen ?? issues.label;
  if (label === '' || label.includes(',') || label.length > 100)
    throw new HaloError('USAGE', 'The label of the issues is empty, has a comma, or is longer than 100 characters.', {
      hint: 'Name one label, as in `--label halo`.',
    });
  // A request over the network must not learn the remotes of a repository of this machine.
  const isNamed = text.includes(':') || (options.remote === true && !isUrl(repo));
  const remote = isNamed ? undefined : isUrl(repo) ? repo : await findOriginUrl(repo);
  const source = parseIssueSource(text, { label, remote });
  const found = await readIssues(await openIssueSource({ home: host.home, env, masker }, source), source);
  if (found.length === 0)
    throw new HaloError(
      'PRD_INVALID',
      `${formatIssueSource(source)} has no open issue with the label ${JSON.stringify(safeLine(label))}.`,
      { hint: 'Add the label to the issues to work on, or name another one with --label.' },
    );
  const prd = issuesToPrd(source, found, issues.priorityLabels);
  return submitRuns(context, { ...options, prd, repos: [repo], issues: source });
}

/**
 * Reads the open issues of a source, and those of `known` that are not among them, because they were closed or lost their
 * label. The latter count as closed. Throws FORGE_FAILED.
 */
async function readIssues(forge: Forge, source: IssueSource, known: readonly number[] = []): Promise<Issue[]> {
  const open = await forge.listIssues(source.label);
  const missing = known.filter((number) => !open.some((issue) => issue.number === number));
  const others = await Promise.all(missing.map((number) => forge.findIssue(number)));
  return [...open, ...others.flatMap((issue) => (issue === undefined || !issue.isClosed ? [] : [issue]))];
}
