import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { gitText } from '../process/git.ts';
import { isObjectId, isZeroId } from '../process/git-output.ts';
import { bareConfig, initBareRepo } from '../repository/init-repo.ts';
import { NOTES_REF } from './notes.ts';

/** Commits to check, the oldest first, and the repository in which they and their notes can be read. */
export interface CommitsToCheck {
  gitDir: string;
  commits: string[];
  /** The commit or ref with the notes. */
  notes: string;
}

/** The commits of a range as git writes it, `base..head`. Throws GIT_FAILED. */
export async function listRange(gitDir: string, range: string): Promise<CommitsToCheck> {
  const listed = await gitText(['rev-list', '--reverse', '--end-of-options', range], { gitDir });
  return { gitDir, commits: listed.split('\n').filter(isObjectId), notes: NOTES_REF };
}

/** A line that git passes to a pre-receive hook: `<old> <new> <ref>`. */
interface PushedRef {
  next: string;
  ref: string;
}

/** Parses the input of a pre-receive hook. Lines of other forms are left out. */
export function parsePushedRefs(text: string): PushedRef[] {
  return text.split('\n').flatMap((line) => {
    const [, next = '', ref = ''] = /^[0-9a-f]{40,64} ([0-9a-f]{40,64}) (\S.*)$/.exec(line) ?? [];
    return ref === '' ? [] : [{ next, ref }];
  });
}

/**
 * The commits that a push would add to the branches and tags of a repository, and the notes as they would be then. They are
 * in quarantine, which only the variables of the hook name: a repository in `folder` makes both readable. Throws GIT_FAILED.
 */
export async function listPushed(
  gitDir: string,
  pushed: readonly PushedRef[],
  { folder, objects }: { folder: string; objects: readonly string[] },
): Promise<CommitsToCheck> {
  const view = join(await mkdtemp(join(folder, 'pushed-')), 'view.git');
  const known = (await gitText(['for-each-ref', '--format=%(objectname)'], { gitDir })).split('\n').filter(isObjectId);
  const own = await gitText(['rev-parse', '--git-path', 'objects'], { gitDir, cwd: gitDir });
  const hexLength = pushed[0]?.next.length ?? 40;
  const places = [...objects, own.startsWith('/') ? own : join(gitDir, own)];
  await initBareRepo(view, { config: bareConfig(hexLength), alternate: places.join('\n') });
  const added = pushed.filter(({ next, ref }) => !isZeroId(next) && !ref.startsWith('refs/notes/'));
  const input = [...added.map(({ next }) => next), ...known.map((id) => `^${id}`)].join('\n');
  // A tag may name something other than a commit; what is not there says so.
  const listed =
    added.length === 0
      ? ''
      : await gitText(['rev-list', '--reverse', '--stdin'], { gitDir: view, input: `${input}\n` });
  const noted = pushed.find(({ ref, next }) => ref === NOTES_REF && !isZeroId(next))?.next;
  const before = await gitText(['for-each-ref', '--format=%(objectname)', NOTES_REF], { gitDir });
  return { gitDir: view, commits: listed.split('\n').filter(isObjectId), notes: noted ?? before };
}

/** Where the variables of a hook say that git keeps objects: of the push, then of the repository. */
export function quarantineOf(env: Readonly<Record<string, string | undefined>>): string[] {
  const { GIT_OBJECT_DIRECTORY: own, GIT_ALTERNATE_OBJECT_DIRECTORIES: others = '' } = env;
  return [own ?? '', ...others.split(':')].filter((path) => path.startsWith('/'));
}
