import { MIRROR, WORKSPACE } from './places.ts';

/**
 * A script that checks `commit` out into the workspace from read-only repositories, whose objects it borrows
 * instead of copying. `sources[0]` is the mirror; a shallow one makes a shallow clone.
 */
export function checkoutScript(commit: string, sources: readonly string[]): string {
  return [
    `cd ${WORKSPACE}`,
    ...initRepository(commit),
    `printf '%s\\n' ${sources.map((source) => `${source}/objects`).join(' ')} > .git/objects/info/alternates`,
    `if [ -f ${MIRROR}/shallow ]; then cp ${MIRROR}/shallow .git/shallow; fi`,
    `git checkout -q -f -B halo ${commit}`,
  ].join('\n');
}

/** The same where nothing can be mounted: stdin is a pack of the commit without its history. */
export function checkoutFromPack(commit: string): string {
  return [
    'set -e',
    `cd ${WORKSPACE}`,
    ...initRepository(commit),
    `echo ${commit} > .git/shallow`,
    'git index-pack --stdin --strict > /dev/null',
    `git checkout -q -f -B halo ${commit}`,
  ].join('\n');
}

function initRepository(commit: string): string[] {
  const format = commit.length === 64 ? ' --object-format=sha256' : '';
  return [`git init -q --template= -b halo${format} . >&2`, 'mkdir -p .git/objects/info'];
}
