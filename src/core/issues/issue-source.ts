import { HaloError } from '../failure/errors.ts';
import { FORGES, isProject, type ForgeName } from '../forge-name.ts';
import { closeSentence } from '../text/did-you-mean.ts';

/** The issues of which a run consists: those of a project with a label. */
export interface IssueSource {
  forge: ForgeName;
  /** `owner/repo`; on GitLab, the path of the project. */
  project: string;
  label: string;
}

/**
 * Parses `github:owner/repo`, or `github` for the project of `remote`, the address of a repository. Throws USAGE.
 */
export function parseIssueSource(
  text: string,
  { label, remote }: { label: string; remote?: string | undefined },
): IssueSource {
  const [name = '', ...rest] = text.split(':');
  const forge = FORGES.find((each) => each === name);
  if (forge === undefined) {
    throw new HaloError(
      'USAGE',
      `The source ${JSON.stringify(text.slice(0, 200))} is unknown${closeSentence(name, FORGES)}`,
      {
        hint: `Write one of ${FORGES.join(', ')}, with the project: \`--source github:owner/repo\`.`,
      },
    );
  }
  const project = rest.length > 0 ? rest.join(':') : projectOf(remote);
  if (project === undefined || !isProject(forge, project))
    throw new HaloError('USAGE', `No project is known for the source ${JSON.stringify(text.slice(0, 200))}.`, {
      hint: `Name it, as in \`--source ${forge}:owner/repo\`.`,
    });
  return { forge, project, label };
}

/** The path in `https://host/owner/repo.git`, `ssh://git@host/owner/repo` or `git@host:owner/repo.git`. */
function projectOf(remote: string | undefined): string | undefined {
  const found = /^(?:[a-z+]+:\/\/[^/]+\/|[\w.-]+@[\w.-]+:)(.+?)(?:\.git)?\/?$/i.exec(remote ?? '');
  return found?.[1];
}

/** Formats a source, as in `github:owner/repo`. */
export function formatIssueSource({ forge, project }: IssueSource): string {
  return `${forge}:${project}`;
}

/** What an issue shows about its story. `stopped`: the run continues without it, or has ended before it. */
export type IssueStatus = 'running' | 'landed' | 'failed' | 'waiting' | 'stopped';

/** What was reported to an issue. */
export interface SentReport {
  status?: IssueStatus;
  /** The marker of a comment that was being posted: whether the forge has it is unknown until it answers. */
  posting?: string;
  closed?: true;
  /** The issue does not exist any more. */
  gone?: true;
}

/** The issues of a run that do not show its progress yet. */
export interface PendingReports {
  /** Ids of the stories. */
  stories: string[];
  /** Why the last report was not sent; absent if it was, or if none was tried yet. */
  why?: string;
  /** ISO 8601; with `why`. */
  retryAt?: string;
}
