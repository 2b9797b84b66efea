import { gitText } from '../process/git.ts';
import { commitTreeArgs, type SigningKey } from './commit-signing.ts';
import { assertObjectId } from '../process/object-id.ts';

export interface CommitRequest {
  candidateDir: string;
  /** From `importTree`. */
  tree: string;
  parent: string;
  /** From `commitMessage`. */
  message: string;
  author: { name: string; email: string };
  date: Date;
  /** Signs the commit. */
  key?: SigningKey | undefined;
}

/** Creates a commit with halo as author and committer. The same request creates the same commit. */
export async function createCommit(request: CommitRequest): Promise<string> {
  const { candidateDir, tree, parent, message, author, date } = request;
  assertObjectId(tree, 'The tree');
  assertObjectId(parent, 'The parent');
  const when = `@${Math.floor(date.getTime() / 1000)} +0000`;
  const env = {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_AUTHOR_DATE: when,
    GIT_COMMITTER_NAME: author.name,
    GIT_COMMITTER_EMAIL: author.email,
    GIT_COMMITTER_DATE: when,
  };
  return gitText([...commitTreeArgs(request.key), tree, '-p', parent, '-F', '-'], {
    gitDir: candidateDir,
    input: message,
    env,
  });
}
