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

/**
 * A script that checks `commit` out into the workspace from read-only repositories, whose objects it borrows
 * instead of copying. `sources[0]` is the view; a shallow one makes a shallow clone.
 */
export function checkoutScript(commit: string, sources: readonly string[]): string {
  return [
    `cd ${WORKSPACE}`,
    ...initRepository(commit),
    ...borrowObjects(sources),
    `git checkout -q -f -B halo ${commit}`,
  ].join('\n');
}

/** The same for sandboxes without mounts: stdin is a pack of the commit without its history. */
export function checkoutFromPack(commit: string): string {
  return [
    'set -e',
    `cd ${WORKSPACE}`,
    ...initRepository(commit),
    ...readPack(commit),
    `git checkout -q -f -B halo ${commit}`,
  ].join('\n');
}

/** Creates a repository with `commit` and no files. Objects come from `sources` or, without them, from a pack on stdin. */
export function repositoryScript(dir: string, commit: string, sources: readonly string[] | undefined): string {
  return [
    `mkdir ${dir}`,
    `cd ${dir}`,
    ...initRepository(commit),
    ...(sources === undefined ? readPack(commit) : borrowObjects(sources)),
    `git update-ref refs/heads/halo ${commit}`,
  ].join('\n');
}

function initRepository(commit: string): string[] {
  const format = commit.length === 64 ? ' --object-format=sha256' : '';
  return [`git init -q --template= -b halo${format} . >&2`, 'mkdir -p .git/objects/info'];
}

function borrowObjects(sources: readonly string[]): string[] {
  return [
    `printf '%s\\n' ${sources.map((source) => `${source}/objects`).join(' ')} > .git/objects/info/alternates`,
    `if [ -f ${VIEW}/shallow ]; then cp ${VIEW}/shallow .git/shallow; fi`,
    `if [ -f ${VIEW}/${REFS_FILE} ]; then cp ${VIEW}/${REFS_FILE} .git/packed-refs; fi`,
  ];
}

function readPack(commit: string): string[] {
  return [`echo ${commit} > .git/shallow`, 'git index-pack --stdin --strict > /dev/null'];
}
