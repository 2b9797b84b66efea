import { tryGit } from '../process/git.ts';
import { splitNul } from '../process/git-output.ts';

/** More files are taken as git shows them. */
const MAX_FILES = 1_000;

/** The advice for a checkout with such files. */
export const RENORMALIZE =
  'git shows files as changed that .gitattributes asks it to convert; `git add --renormalize .` and a commit end that';

/**
 * The paths among `entries` of `git status -z` that have the bytes and the mode of the index, so that they have not been changed: git shows
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
    tryGit(['diff-files', '--raw', '-z', '--no-abbrev', '--no-renames', '--', ...plain], literal),
  ]);
  if (hashed.exitCode !== 0 || listed.exitCode !== 0) return new Set();
  const ids = hashed.stdout.toString('latin1').trim().split('\n');
  const fields = splitNul(listed.stdout);
  const index = new Map(fields.flatMap((field, at) => (at % 2 === 0 ? [[fields[at + 1], idInIndex(field)]] : [])));
  return new Set(plain.filter((path, nth) => index.get(path) === ids[nth]));
}

/** Of a file whose mode has not changed either: `:100644 100644 <id> <zeros> M`. A link is hashed as what it points to. */
function idInIndex(change: string): string | undefined {
  return /^:(100\d{3}) \1 (\w+) /.exec(change)?.[2];
}
