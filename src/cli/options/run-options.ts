import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import type { NewSettings } from '../../api/operations/schemas.ts';
import { AGENT_IDS } from '../../core/agent.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli } from '../cli.ts';
import { askPerson } from '../run/run-until-signal.ts';

export interface SettingFlags {
  agent?: string;
  profile?: string;
  config?: string[];
  askForApproval?: true;
  prompt?: string;
}

/** Adds the options that change settings: --agent, --profile, -c. */
export function addSettingOptions(command: Command): Command {
  // These are offered; halo.toml may name others.
  const agent = new Option('--agent <name>', 'the agent to use').choices(AGENT_IDS).argParser(String);
  return command
    .addOption(agent)
    .option('--profile <name>', 'use [profiles.<name>] of the configuration')
    .option('-c, --config <key=value>', 'override one setting, e.g. -c retry.attempts=1 (repeatable)', collect);
}

/** The setting for an option of `run` and `submit`, in the format of `-c approval.mode=story`. */
export const ASK: [string, string] = ['--ask-for-approval', 'require approval before a story lands'];

/** An option of `run`, `submit`, `plan` and `prompt`: the setting `prompt.before`. */
export const PROMPT_FILE: [string, string] = [
  '--prompt <path>',
  'begin every prompt with this committed file (setting prompt.before)',
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
  'let the agent describe what it would change for each story; change nothing',
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

export interface SettingsFlags {
  config?: string[];
  yes?: true;
}

/** Adds the options that change the settings of an existing run. */
export function addSettings(
  command: Command,
  yes = 'change gates or image, or use --all, without being asked; necessary without a terminal',
): Command {
  return command
    .option(
      '-c, --config <key=value>',
      'change a key of limits, budget or retry, model.name, model.effort, tests.broken_base, gates or image (repeatable)',
      collect,
    )
    .option('-y, --yes', yes);
}

/** The settings of the flags, after the user has confirmed them if necessary. Throws USAGE, CONFIG_INVALID. */
export async function settingsFor({ config: set, yes }: SettingsFlags, cli: Cli): Promise<NewSettings> {
  if (set === undefined) return {};
  const { findKeysNeedingApproval, parseAmendedKeys } = await import('../../config/amend.ts');
  const proving = findKeysNeedingApproval(parseAmendedKeys(set));
  if (proving.length === 0 || yes) return { set, ...(yes && { yes }) };
  const what = proving.join(' and ');
  if (cli.ask !== undefined) {
    await cli.note(...set.map((setting) => `  ${safeLine(setting, 500)}`));
    const answer = await askPerson(
      `This changes the checks that stories must pass (${what}). Continue? [y]es, anything else: no  `,
      cli,
    );
    if (answer === 'y' || answer === 'yes') return { set, yes: true };
  }
  throw new HaloError('USAGE', `Nothing was changed: ${what} needs confirmation.`, {
    hint: 'Confirm the change with --yes.',
  });
}

/** Flags that `halo task` and `halo loop` share. */
export interface TaskFlags {
  tasks?: string;
  prompt?: string;
  workspace?: string;
  assignee: string;
}

export function addTaskOptions(command: Command, assignee: string): Command {
  return command
    .option('--tasks <path>', 'the tasks file (default: prd.json, else tasks.json)')
    .option(
      '--prompt <path>',
      'the file that every prompt starts with (default: ~/.prompts/autonomous-senior-engineer.prompt.md)',
    )
    .option('--workspace <path>', 'the git checkout to work in, where other relative paths start (default: ".")')
    .option('--assignee <name>', 'the name in the lines of the log', assignee);
}

const MAX_LINE_LENGTH = 1000;

/** Writes lines to stderr, with the time and the source. */
export function labelled(assignee: string, cli: Cli): (line: string) => Promise<void> {
  return (line) =>
    cli.note(`${new Date().toISOString()} [${safeLine(assignee, 40)}] ${safeLine(line, MAX_LINE_LENGTH)}`);
}
