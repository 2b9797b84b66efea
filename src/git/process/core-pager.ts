import { git } from './git.ts';

/**
 * Reads `core.pager` from the user's configuration, else from the system's; undefined if it is not set. Ignores the
 * configuration of repositories, because halo would run the program that it names.
 */
export async function readCorePager(): Promise<string | undefined> {
  for (const scope of ['--global', '--system']) {
    // 1: it is not set, 128: there is no such file.
    const found = await git(['config', scope, '--includes', '--get', 'core.pager'], {
      trust: 'operator',
      ok: [0, 1, 128],
      maxBytes: 64 * 1024,
      timeoutMs: 10_000,
    });
    const pager = found.stdout.toString('utf8').trim();
    if (found.exitCode === 0) return pager;
  }
  return undefined;
}
