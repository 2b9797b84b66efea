import { chmod, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseConfigFile, readConfigText } from '../config/load/config-file.ts';
import { resolveConfig, type ResolvedConfig } from '../config/resolve.ts';
import { writeAtomic } from '../lib/fs.ts';
import { withLock } from '../lib/lock.ts';
import { withDiskErrors } from '../store/disk-errors.ts';

/**
 * Changes the text of config.toml of a HALO_HOME, which must remain valid; `check` may refuse what it says then. Throws
 * CONFIG_INVALID, DISK_FAILED.
 */
export async function changeHostConfig(
  home: string,
  change: (text: string) => string,
  check: (resolved: ResolvedConfig) => void = () => undefined,
): Promise<void> {
  const path = join(home, 'config.toml');
  await withDiskErrors(path, () =>
    withLock(
      `${path}.lock`,
      async () => {
        const before = await readConfigText(path);
        const text = change(before ?? '');
        check(resolveConfig({ home: parseConfigFile(path, text), models: 'unused', cwd: '/' }));
        // The file may be a link to one that is managed elsewhere.
        const file = before === undefined ? path : await realpath(path);
        const mode = before === undefined ? 0o600 : (await stat(file)).mode & 0o777;
        await writeAtomic(file, text, true);
        await chmod(file, mode);
      },
      { makeFolder: true },
    ),
  );
}
