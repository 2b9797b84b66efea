import { inspectRepo, listChanges } from '../git/repository/inspect-repo.ts';

/** The commit, the branch and the changed files of a checkout, for people; or why nobody knows. Never throws. */
export async function describeCheckout(source: string): Promise<string> {
  try {
    const { root, head, branch } = await inspectRepo(source);
    const changes = await listChanges(root);
    return [`HEAD ${head} (${branch ?? 'detached'})`, ...changes.tracked, ...changes.untracked].join('\n') + '\n';
  } catch (error) {
    return `unknown: ${error instanceof Error ? error.message : String(error)}\n`;
  }
}
