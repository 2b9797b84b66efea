import { openGitLauncher } from '../../../src/git/process/git.ts';

let launcher: { close(): void } | undefined;

/** As in a worker, halo's git commands are children of a small process, which the files of this process share. */
export function shareGitLauncher(): void {
  launcher ??= openGitLauncher();
}

/** For a file that changes variables which git reads: a small process has those with which it was started. */
export function leaveGitLauncher(): void {
  launcher?.close();
  launcher = undefined;
}
