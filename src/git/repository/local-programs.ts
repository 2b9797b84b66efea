import { git, type GitOptions } from '../process/git.ts';
import { splitNul } from '../process/git-output.ts';
import { isLocal, listSettings, type GitSetting } from '../process/git-settings.ts';

/** Settings that override the programs that a repository's own configuration names. */
interface LocalPrograms {
  settings: Record<string, string>;
  /** Names of the filters that are disabled because the operator has not configured them. */
  filters: string[];
}

/** Settings of programs that git runs in a checkout, except hooks and fsmonitor, and their replacement if the operator has none. */
const PROGRAMS: [key: RegExp, instead: string][] = [
  [/^filter\..*\.(clean|smudge|process)$/s, ''],
  [/^filter\..*\.required$/s, 'false'],
  [/^merge\..*\.driver$/s, 'false'],
  [/^gpg\.(openpgp\.)?program$/, 'gpg'],
  [/^gpg\.x509\.program$/, 'gpgsm'],
  [/^gpg\.ssh\.program$/, 'ssh-keygen'],
];

/**
 * Replaces the programs that a checkout's `.git/config` names with those of the operator's configuration, or with harmless
 * defaults, because the file may come from an untrusted source. Throws GIT_FAILED.
 */
export async function replaceLocalPrograms(at: Pick<GitOptions, 'cwd' | 'gitDir'>): Promise<LocalPrograms> {
  return withoutLocalPrograms(await listSettings(at));
}

/** As `replaceLocalPrograms`, of all settings of a checkout. */
export function withoutLocalPrograms(all: readonly GitSetting[]): LocalPrograms {
  const own = new Map(all.filter((setting) => !isLocal(setting)).map(({ key, value }) => [key, value]));
  const settings: Record<string, string> = {};
  for (const { key } of all.filter(isLocal)) {
    const program = PROGRAMS.find(([pattern]) => pattern.test(key));
    if (program !== undefined) settings[key] = own.get(key) ?? program[1];
  }
  const off = Object.keys(settings).filter((key) => !own.has(key));
  const names = off.flatMap((key) => /^filter\.(.*)\.(?:clean|smudge|process)$/s.exec(key)?.[1] ?? []);
  return { settings, filters: [...new Set(names)] };
}

/** Returns those filters that the files changed between two commits may need; the checkout is at `from`. */
export async function filtersBetween(
  cwd: string,
  { from, to, filters }: { from: string; to: string; filters: readonly string[] },
): Promise<string[]> {
  if (filters.length === 0) return [];
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', from, to];
  const { stdout } = await git(args, { cwd, trust: 'operator' });
  // The current attributes do not apply if the change modifies them.
  if (splitNul(stdout).some((name) => /(?:^|\/)\.gitattributes$/.test(name))) return [...filters];
  return filtersOf(cwd, splitNul(stdout), filters);
}

/** Returns those filters that files of a checkout use. */
export async function filtersOf(cwd: string, paths: readonly string[], filters: readonly string[]): Promise<string[]> {
  if (filters.length === 0 || paths.length === 0) return [];
  const input = paths.map((path) => `${path}\0`).join('');
  const { stdout } = await git(['check-attr', '-z', '--stdin', 'filter'], { cwd, trust: 'operator', input });
  // Each line is a path, the name of the attribute, and its value; none of them is empty.
  const values = new Set(splitNul(stdout).filter((_field, index) => index % 3 === 2));
  return filters.filter((filter) => values.has(filter));
}
