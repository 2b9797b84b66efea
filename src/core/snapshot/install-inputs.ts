import { findLoadingVariable, findUsedPath } from './install-env.ts';
import { INSTALLERS, type Installer } from './installers.ts';
import { findShadowingModule } from './python-modules.ts';
import { PACKAGE_LOCKS } from './reading-packages.ts';

/**
 * Which files decide what a setup command installs. Only for commands that install exactly what lockfiles say; the result
 * of any other command may depend on every file of the tree.
 */

/** What decides the result of a list of commands: the whole tree, or only some of its files. */
type Inputs =
  | { kind: 'tree'; why: string }
  /**
   * `inspect`: files whose content can still require the whole tree, see `findTreeDependency`. `lockfile`: the lockfile of
   * the only command, if it lists the folders that the command installs, see `listLockedFolders`.
   */
  | { kind: 'files'; files: string[]; inspect: string[]; runsScripts: boolean; lockfile?: string };

/** Installed packages, if the repository has them. */
const INSTALLED = /(?:^|\/)node_modules\//;

/** The command runs a module of Python. */
const RUNS_MODULE = /^\S*python3? -m /;

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
    if (installer === undefined || installer.isExact?.(command, env) === false)
      return { kind: 'tree', why: `\`${command}\` may read any file` };
    installers.push(installer);
    const environment = installer.environment?.(command);
    const used = environment === undefined ? undefined : findUsedPath(environment, paths);
    if (used !== undefined) return { kind: 'tree', why: `${used} is in the environment of \`${command}\`` };
    const module = RUNS_MODULE.test(command) ? findShadowingModule(paths) : undefined;
    if (module !== undefined) return { kind: 'tree', why: `\`${command}\` may run ${module}` };
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
      if (installer.installed?.test(path)) files.add(path);
      if (INSTALLED.test(path)) continue;
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
