import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { HaloError } from '../../core/failure/errors.ts';
import { AGENT_IDS } from '../../core/agent.ts';

export interface SettingFlags {
  agent?: string;
  profile?: string;
  config?: string[];
  askForApproval?: true;
  prompt?: string;
}

/** Adds the options that change settings: --agent, --profile, -c. */
export function addSettingOptions(command: Command): Command {
  return command
    .addOption(new Option('--agent <name>', 'the agent to use').choices(AGENT_IDS))
    .option('--profile <name>', 'use [profiles.<name>] of the configuration')
    .option('-c, --config <key=value>', 'override one setting, e.g. -c retry.attempts=1 (repeatable)', collect);
}

/** The setting for an option of `run` and `submit`, in the format of `-c approval.mode=story`. */
export const ASK: [string, string] = ['--ask-for-approval', 'require approval before a story lands'];

/** An option of `run`, `submit`, `plan` and `prompt`: the setting `prompt.before`. */
export const PROMPT_FILE: [string, string] = [
  '--prompt <path>',
  'begin every prompt with this committed file of the repository (setting prompt.before)',
];

/** An option of `run` and `submit`: the ids of the only stories to run. */
export const STORY: [string, string, typeof collect] = [
  '--story <id>',
  'run only this story (repeatable); the stories that it depends on must be done, or named, too',
  collect,
];

/** An option of `run` and `submit`: agents describe changes, and nothing lands. */
export const DRY_RUN: [string, string] = [
  '--dry-run',
  'let the agent read the repository and describe what it would change for each story; change nothing',
];

/** The flags as `key=value` settings; later ones override earlier ones. */
export function settingsOf(flags: SettingFlags): string[] {
  return [
    ...(flags.config ?? []),
    ...(flags.agent === undefined ? [] : [`agent=${flags.agent}`]),
    ...(flags.prompt === undefined ? [] : [`prompt.before=${flags.prompt}`]),
    ...(flags.askForApproval === undefined ? [] : ['approval.mode=story']),
  ];
}

/** Collects a repeatable option. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** A repository in the format of the operations: an absolute path, or the unchanged URL. */
export function repoSource(cwd: string, repo: string): string {
  return /^([a-z][a-z0-9+.-]*:\/\/|[\w.-]+@[\w.-]+:)/i.test(repo) ? repo : resolve(cwd, repo);
}

/** The options of `run` and `submit` for runs whose stories are issues. */
export interface SourceFlags {
  source?: string;
  label?: string;
  again?: true;
}

export function addSourceOptions(command: Command): Command {
  return command
    .option('--source <forge>', 'work on issues: github[:owner/repo], gitlab:group/project or gitea:owner/repo')
    .option('--label <label>', 'the label of these issues (default: issues.label, which is halo)')
    .option('--again', 'with --source: work on issues again that a run works on or has landed');
}

/** Throws USAGE for options that --source excludes, and for --label and --again without it. */
export function assertSource({ source, label, again }: SourceFlags, others: Record<string, unknown>): void {
  if (source === undefined) {
    const lone = label !== undefined ? '--label' : again ? '--again' : undefined;
    if (lone === undefined) return;
    throw new HaloError('USAGE', `${lone} is only for issues.`, { hint: 'Add --source, as in `--source github`.' });
  }
  const [name] = Object.entries(others).find(([, value]) => value !== undefined) ?? [];
  if (name === undefined) return;
  throw new HaloError('USAGE', `--source cannot be combined with ${name}.`, {
    hint: `Remove ${name}: the stories are the issues.`,
  });
}
