import { access, constants, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { HaloError } from '../../../core/failure/errors.ts';
import { escapesFolder } from '../../../lib/fs.ts';
import { resolveTasksFile } from './tasks-file.ts';

/** The paths for `halo task` and `halo loop`, as given by flags. */
export interface Where {
  /** The absolute folder to which relative workspaces refer. */
  cwd: string;
  /** The home folder, which contains the default prompt. */
  userHome: string;
  workspace?: string | undefined;
  tasks?: string | undefined;
  prompt?: string | undefined;
}

/** Absolute paths of everything that a task needs. */
export interface Places {
  workspace: string;
  tasks: string;
  prompt: string;
}

/** Throws PRD_UNREADABLE, PROMPT_MISSING, and NOT_A_GIT_REPO if the workspace does not exist. */
export async function resolvePlaces(where: Where): Promise<Places> {
  const named = resolve(where.cwd, where.workspace ?? '.');
  const workspace = await realpath(named).catch((cause: unknown) => {
    throw new HaloError('NOT_A_GIT_REPO', `There is no workspace ${named}.`, {
      hint: 'Set --workspace to the folder of a git checkout.',
      cause,
    });
  });
  const tasks = await resolveTasksFile(workspace, where.tasks);
  return { workspace, tasks, prompt: await resolvePrompt(where.prompt, { workspace, home: where.userHome }) };
}

/** The absolute path of the prompt that starts each run. Throws PROMPT_MISSING. */
async function resolvePrompt(named: string | undefined, from: { workspace: string; home: string }): Promise<string> {
  const standard = join(from.home, '.prompts', 'autonomous-senior-engineer.prompt.md');
  const path = named === undefined ? standard : resolve(from.workspace, named);
  const isLink = await escapesFolder(from.workspace, path).catch(() => false);
  const problem = isLink
    ? `The prompt file ${path} is a link that leads out of ${from.workspace}.`
    : await whyUnreadable(path);
  if (problem === undefined) return path;
  throw new HaloError('PROMPT_MISSING', problem, {
    hint:
      named === undefined
        ? 'Create it, or set another file with --prompt.'
        : 'Set --prompt to an existing file; a relative path starts at the workspace.',
  });
}

/** Does not read the file, because a pipe, for example, can be read only once. */
async function whyUnreadable(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.R_OK);
    return (await stat(path)).isDirectory() ? `The prompt file ${path} is a folder.` : undefined;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? `There is no prompt file ${path}.` : `The prompt file ${path} cannot be read (${code}).`;
  }
}
