import { findLoadingVariable, findUsedPath } from './install-env.ts';
import { INSTALLERS, type Installer } from './installers.ts';
import { PACKAGE_LOCKS } from './reading-packages.ts';

/**
 * Which files decide what a setup command installs. Only for commands that install exactly what lockfiles say; the result
 * of any other command may depend on every file of the tree.
 */

/** What decides the result of a list of commands: the whole tree, or only some of its files. */
export type Inputs =
  | { kind: 'tree'; why: string }
  /**
   * `inspect`: files whose content can still require the whole tree, see `findTreeDependency`. `lockfile`: the lockfile of
   * the only command, if it lists the folders that the command installs, see `listLockedFolders`.
   */
  | { kind: 'files'; files: string[]; inspect: string[]; runsScripts: boolean; lockfile?: string };

/** Installed packages, if the repository has them. */
const IGNORED = /(?:^|\/)node_modules\//;

/** The inputs of setup commands, given the paths of all files of the tree and the variables in `[env]`. */
export function selectInputs(
  setup: readonly string[],
  paths: readonly string[],
  env: Readonly<Record<string, string>>,
): Inputs {
  const variable = findLoadingVariable(env, paths);
  if (variable !== undefined) return { kind: 'tree', why: variable };
  const commands = setup
    .flatMap((command) => command.split('&&'))
    .map((command) => command.trim().replace(/\s+/g, ' '));
  const [files, inspect] = [new Set<string>(), new Set<string>()];
  const installers: Installer[] = [];
  for (const command of commands) {
    const installer = INSTALLERS.find((known) => known.command.test(command));
    const [program = ''] = command.split(' ', 1);
    if (
      installer?.isExact?.(command, env) === false ||
      installer === undefined ||
      (program.includes('/') && findUsedPath(program, paths) !== undefined)
    )
      return { kind: 'tree', why: `\`${command}\` may read any file` };
    installers.push(installer);
    const { lockfiles } = installer;
    const locked = lockfiles?.find((path) => paths.includes(path));
    if (lockfiles !== undefined && locked === undefined)
      return { kind: 'tree', why: `\`${command}\` has no ${lockfiles.join(' or ')} in the root folder` };
    if (locked !== undefined && PACKAGE_LOCKS.test(locked)) inspect.add(locked);
    const named = installer.named?.(command) ?? [];
    const missing = named.find((path) => !paths.includes(path));
    if (missing !== undefined) return { kind: 'tree', why: `${missing} is not a file of the repository` };
    for (const path of named) {
      files.add(path);
      inspect.add(path);
    }
    for (const path of paths) {
      if (IGNORED.test(path)) continue;
      if (installer.never?.test(path)) return { kind: 'tree', why: `${path} can run code of the repository` };
      if (installer.inputs.test(path)) files.add(path);
      if (installer.inspect.test(path)) inspect.add(path);
    }
  }
  const runsScripts = !commands.every((command) => / --ignore-scripts(?: |$)/.test(command));
  const found = { kind: 'files', files: [...files].sort(), inspect: [...inspect].sort(), runsScripts } as const;
  const [only, ...others] = installers;
  const listed = others.length === 0 && only?.listsFolders ? only.lockfiles : undefined;
  const lockfile = listed?.find((path) => paths.includes(path));
  return lockfile === undefined ? found : { ...found, lockfile };
}
