import { access, constants, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { HaloError } from '../../../core/failure/errors.ts';
import { leadsOut } from '../../../lib/inside.ts';
import { findTasksFile } from './tasks-file.ts';

/** Where `halo task` and `halo loop` work, as the flags say it. */
export interface Where {
  /** Where relative workspaces start; absolute. */
  cwd: string;
  /** The home folder, which has the usual prompt. */
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

/** Throws PRD_UNREADABLE, PROMPT_MISSING, and NOT_A_GIT_REPO for a workspace that is not there. */
export async function findPlaces(where: Where): Promise<Places> {
  const named = resolve(where.cwd, where.workspace ?? '.');
  const workspace = await realpath(named).catch((cause: unknown) => {
    throw new HaloError('NOT_A_GIT_REPO', `There is no workspace ${named}.`, {
      hint: '--workspace names the folder of a git checkout.',
      cause,
    });
  });
  const tasks = await findTasksFile(workspace, where.tasks);
  return { workspace, tasks, prompt: await findPrompt(where.prompt, { workspace, home: where.userHome }) };
}

/** The prompt that every run begins with, an absolute path. Throws PROMPT_MISSING. */
async function findPrompt(named: string | undefined, from: { workspace: string; home: string }): Promise<string> {
  const standard = join(from.home, '.prompts', 'autonomous-senior-engineer.prompt.md');
  const path = named === undefined ? standard : resolve(from.workspace, named);
  const isLink = await leadsOut(from.workspace, path).catch(() => false);
  const problem = isLink ? `The prompt file ${path} is a link out of ${from.workspace}.` : await whyUnreadable(path);
  if (problem === undefined) return path;
  throw new HaloError('PROMPT_MISSING', problem, {
    hint:
      named === undefined
        ? 'Write one there, or name another with --prompt.'
        : '--prompt names a file; a relative path starts at the workspace.',
  });
}

/** It is not read: what is no regular file, such as a pipe, could be read only once. */
async function whyUnreadable(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.R_OK);
    return (await stat(path)).isDirectory() ? `The prompt file ${path} is a folder.` : undefined;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? `There is no prompt file ${path}.` : `The prompt file ${path} cannot be read (${code}).`;
  }
}
