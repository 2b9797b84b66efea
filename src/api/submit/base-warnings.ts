import type { Config } from '../../config/config.ts';
import { registriesOf, describeUnreachable } from '../../core/command-needs.ts';
import { findMissingContents } from '../../git/repository/missing-contents.ts';

/** Warns if setup downloads packages that the network rules do not allow. */
export function warnOfNetwork({ setup, network }: Pick<Config, 'setup' | 'network'>): string[] {
  const why = describeUnreachable(setup, network);
  return why === undefined ? [] : [`Setup downloads packages (${registriesOf(setup).join(', ')}), but ${why}.`];
}

/** Warns about submodules and Git LFS files, whose content the commit does not have. */
export async function warnOfContents(place: { gitDir: string; commit: string }): Promise<string[]> {
  const { submodules, pointers } = await findMissingContents(place);
  const of = (paths: string[]) =>
    paths.slice(0, 3).join(', ') + (paths.length > 3 ? ` and ${paths.length - 3} more` : '');
  return [
    ...(submodules.length === 0
      ? []
      : [
          `Submodules are not fetched (${of(submodules)}): setup, agents and gates find their folders empty. Make them part of the repository, or have setup download what is needed.`,
        ]),
    ...(pointers.length === 0
      ? []
      : [
          `Files in Git LFS are not fetched (${of(pointers)}): setup, agents and gates find the text of their pointers. Have setup download what the gates need.`,
        ]),
  ];
}
