import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { openHome, type Ended, type HaloHome, type HaloProcess } from '../halo/halo-process.ts';
import { makeRepository, type TestRepository } from '../repository/repository.ts';
import { callHalo } from '../terminal/call-halo.ts';

/** A tasks file's entry, as far as tests look at it. */
export interface TaskEntry {
  task_id: string;
  status?: string | undefined;
  model?: string | undefined;
  observability?: Record<string, unknown>;
  [key: string]: unknown;
}

/** A repository with tasks, a user's home folder with the usual prompt, and `halo task` and `halo loop` in it. */
export interface LeverWorkspace {
  home: HaloHome;
  repository: TestRepository;
  root: string;
  /** Variables that make an agent out of a shell script. */
  run(words: string[], env?: Record<string, string>): Promise<Ended>;
  start(words: string[], env?: Record<string, string>): HaloProcess;
  /** The same as `run` in this process, for commands whose programs write nothing. */
  call(words: string[], env?: Record<string, string>, cwd?: string): Promise<Ended>;
  writeTasks(content: object, name?: string): void;
  task(id: string, name?: string): TaskEntry;
  read(path: string): string;
  has(path: string): boolean;
  /** An executable file of the workspace. */
  program(path: string, script: string): void;
  userHome: string;
}

/** Closed when the test is over. */
export function openWorkspace(): LeverWorkspace {
  const home = openHome();
  const repository = makeRepository({ '.gitignore': 'calls\nagent.sh\n' });
  onTestFinished(async () => {
    await home.close();
    repository.remove();
  });
  const { root } = repository;
  const userHome = join(root, '..', 'user');
  mkdirSync(join(userHome, '.prompts'), { recursive: true });
  writeFileSync(join(userHome, '.prompts', 'autonomous-senior-engineer.prompt.md'), 'You are an engineer of old.\n');
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const start = (words: string[], env: Record<string, string> = {}) =>
    home.start(words, { cwd: root, env: { HOME: userHome, ...env } });
  return {
    home,
    repository,
    root,
    userHome,
    start,
    run: (words, env) => start(words, env).ended,
    call: (words, env, cwd = root) => callHalo(words, { cwd, env: { HALO_HOME: home.dir, HOME: userHome, ...env } }),
    writeTasks: (content, name = 'prd.json') =>
      writeFileSync(join(root, name), `${JSON.stringify(content, null, 2)}\n`),
    task(id, name = 'prd.json') {
      const document = JSON.parse(read(name)) as TaskEntry[] | { tasks: TaskEntry[] };
      const found = (Array.isArray(document) ? document : document.tasks).find(({ task_id }) => task_id === id);
      if (found === undefined) throw new Error(`there is no task ${id}`);
      return found;
    },
    read,
    has: (path) => existsSync(join(root, path)),
    program(path, script) {
      writeFileSync(join(root, path), `#!/bin/sh\n${script}\n`);
      chmodSync(join(root, path), 0o755);
    },
  };
}

/** A task with all that a run needs. */
export function entry(id: string, more: Partial<TaskEntry> = {}): TaskEntry {
  return {
    task_id: id,
    title: `Title of ${id}`,
    definition_of_done: [`${id} is there`, `${id} is tested`],
    recommended: { approach: `The way to ${id}` },
    model: 'gpt-5.1-codex',
    ...more,
  };
}

/** A link named `lever` to halo, as npm makes it. */
export function linkLever(folder: string): string {
  const path = join(folder, 'lever');
  symlinkSync(resolve(import.meta.dirname, '../../../bin/halo'), path);
  return path;
}

/** The `command` agent with this script, through variables as a user sets them; gates do not run on the base commit. */
export function agentOf(script: string): Record<string, string> {
  return {
    HALO_AGENT: 'command',
    HALO_AGENTS_COMMAND_RUN: script,
    HALO_TESTS_BASELINE: 'never',
  };
}
