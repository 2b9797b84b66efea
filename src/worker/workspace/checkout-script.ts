import { REFS_FILE } from '../../git/mirror/workspace-refs.ts';
import { VIEW, WORKSPACE } from './sandbox-paths.ts';

/** The commit to check out into a workspace. */
export interface Checkout {
  commit: string;
  /** The repository on the host that has it. */
  gitDir: string;
  /** The mounted repositories in which a sandbox finds it. */
  sources: readonly string[];
}

/** How a sandbox gets the objects of a commit. */
export interface CommitObjects {
  /** The mounted repositories from which it borrows objects instead of copying them. `VIEW`, if it is one, comes first. */
  mounted: readonly string[];
  /** What is on stdin, one after the other; undefined: nothing. */
  reads?: StreamedObjects | undefined;
}

/** What a sandbox reads of a repository that is not mounted. */
export interface StreamedObjects {
  /** The sizes of the files `shallow` and `packed-refs`, in bytes; 0: there is none. */
  shallow: number;
  refs: number;
  /** Whether a thin pack follows. */
  pack: boolean;
}

/** A script that checks `commit` out into the workspace. A shallow view makes a shallow clone. */
export function checkoutScript(commit: string, objects: CommitObjects): string {
  return [
    `cd ${WORKSPACE}`,
    ...initRepository(commit),
    ...takeObjects(objects),
    `git checkout -q -f -B halo ${commit}`,
  ].join('\n');
}

/** Creates a repository with `commit` and no files. */
export function repositoryScript(dir: string, commit: string, objects: CommitObjects): string {
  return [
    `mkdir ${dir}`,
    `cd ${dir}`,
    ...initRepository(commit),
    ...takeObjects(objects),
    `git update-ref refs/heads/halo ${commit}`,
  ].join('\n');
}

function initRepository(commit: string): string[] {
  const format = commit.length === 64 ? ' --object-format=sha256' : '';
  return [`git init -q --template= -b halo${format} . >&2`, 'mkdir -p .git/objects/info'];
}

/** Script lines that make objects available to a new repository, whose files are in `dir`. */
export function takeObjects({ mounted, reads }: CommitObjects, dir = '.git'): string[] {
  return [
    ...(mounted.length === 0 ? [] : borrowObjects(mounted, dir)),
    ...(reads === undefined ? [] : readObjects(reads, dir)),
  ];
}

/** The pack comes last: git reads ahead. */
function readObjects({ shallow, refs, pack }: StreamedObjects, dir: string): string[] {
  return [
    ...(shallow > 0 ? [`head -c ${shallow} > ${dir}/shallow`] : []),
    ...(refs > 0 ? [`head -c ${refs} > ${dir}/packed-refs`] : []),
    ...(pack ? ['git index-pack --stdin --fix-thin --strict > /dev/null'] : []),
  ];
}

function borrowObjects(mounted: readonly string[], dir: string): string[] {
  return [
    `printf '%s\\n' ${mounted.map((source) => `${source}/objects`).join(' ')} > ${dir}/objects/info/alternates`,
    `if [ -f ${VIEW}/shallow ]; then cp ${VIEW}/shallow ${dir}/shallow; fi`,
    `if [ -f ${VIEW}/${REFS_FILE} ]; then cp ${VIEW}/${REFS_FILE} ${dir}/packed-refs; fi`,
  ];
}
