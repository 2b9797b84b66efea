import { tryGit } from '../process/git.ts';
import { splitNul } from '../process/git-output.ts';

/** More files are taken as git shows them. */
const MAX_FILES = 1_000;

/** The advice for a checkout with such files. */
export const RENORMALIZE =
  'git shows files as changed that .gitattributes asks it to convert; `git add --renormalize .` and a commit end that';

/**
 * The paths among `entries` of `git status -z` that have the bytes of the index, so that they have not been changed: git shows
 * them only because it would convert them, e.g. after `text` was set for files with CRLF. None where git cannot say.
 */
export async function findConverted(root: string, entries: readonly string[]): Promise<Set<string>> {
  const paths = entries.filter((entry) => entry.startsWith(' M ')).map((entry) => entry.slice(3));
  const plain = paths.filter((path) => !path.includes('\n') && !path.startsWith('"'));
  if (plain.length === 0 || plain.length > MAX_FILES) return new Set();
  const at = { cwd: root, trust: 'operator' } as const;
  const literal = { ...at, env: { GIT_LITERAL_PATHSPECS: '1' } };
  const [hashed, listed] = await Promise.all([
    tryGit(['hash-object', '--no-filters', '--stdin-paths'], { ...at, input: `${plain.join('\n')}\n` }),
    tryGit(['ls-files', '--stage', '-z', '--full-name', '--', ...plain], literal),
  ]);
  if (hashed.exitCode !== 0 || listed.exitCode !== 0) return new Set();
  const ids = hashed.stdout.toString('latin1').trim().split('\n');
  const index = new Map(
    splitNul(listed.stdout).map((line) => [line.slice(line.indexOf('\t') + 1), line.split(' ')[1]]),
  );
  return new Set(plain.filter((path, nth) => index.get(path) === ids[nth]));
}
