import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { AGENT_IDS } from '../../core/agent.ts';

export interface SettingFlags {
  agent?: string;
  profile?: string;
  config?: string[];
  askForApproval?: true;
}

/** Adds the options that change settings: --agent, --profile, -c. */
export function addSettingOptions(command: Command): Command {
  return command
    .addOption(new Option('--agent <name>', 'the agent that works on the stories').choices(AGENT_IDS))
    .option('--profile <name>', 'use [profiles.<name>] of the configuration')
    .option('-c, --config <key=value>', 'change one setting, e.g. -c retry.attempts=1 (repeatable)', collect);
}

/** What an option of `run` and `submit` says for `-c approval.mode=story`. */
export const ASK: [string, string] = ['--ask-for-approval', 'let no story land before a person has seen it'];

/** The flags as `key=value` settings, later wins. */
export function settingsOf(flags: SettingFlags): string[] {
  return [
    ...(flags.config ?? []),
    ...(flags.agent === undefined ? [] : [`agent=${flags.agent}`]),
    ...(flags.askForApproval === undefined ? [] : ['approval.mode=story']),
  ];
}

/** Collects a repeatable option. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** A repository as the operations want it: an absolute path, or the URL as it is. */
export function repoSource(cwd: string, repo: string): string {
  return /^([a-z][a-z0-9+.-]*:\/\/|[\w.-]+@[\w.-]+:)/i.test(repo) ? repo : resolve(cwd, repo);
}
