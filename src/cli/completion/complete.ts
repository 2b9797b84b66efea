import type { Command, Option } from 'commander';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli } from '../cli.ts';
import { listPrdNames } from '../options/read-prd.ts';
import { buildProgram } from '../program.ts';

interface Completion {
  word: string;
  meaning: string;
}

/**
 * Prints the possible completions of the last word, one `word<tab>meaning` per line. Prints nothing if a file is
 * expected.
 */
export async function complete(words: string[], cli: Cli): Promise<number> {
  const { before, current, prefix } = splitWords(words);
  const found = await findCompletions(before, current, cli).catch(() => []);
  await cli.print(
    ...found
      .filter(({ word }) => word.startsWith(current) && PLAIN.test(word))
      .map(({ word, meaning }) => `${prefix}${word}\t${safeLine(meaning)}`),
  );
  return 0;
}

/** The words before the one to complete, which may be the value in `--option=value`; bash splits that into three words. */
function splitWords(words: readonly string[]): { before: string[]; current: string; prefix: string } {
  const [before, current] = [words.slice(0, -1), words.at(-1) ?? ''];
  const [, option, value = ''] = /^(--[\w-]+)=(.*)$/.exec(current) ?? [];
  if (option !== undefined) return { before: [...before, option], current: value, prefix: `${option}=` };
  if (before.at(-1) === '=') return { before: before.slice(0, -1), current, prefix: '' };
  return { before, current: current === '=' ? '' : current, prefix: '' };
}

/** The shell inserts a word unquoted: one with a blank, quote or dollar sign would be interpreted. */
const PLAIN = /^[\w.:@/+=-]+$/;

async function findCompletions(before: string[], current: string, cli: Cli): Promise<Completion[]> {
  const name = before.find((word) => !word.startsWith('-'));
  let command: Command = await buildProgram(cli, name === undefined ? [] : [name]);
  let positionals = 0;
  for (let index = 0; index < before.length; index += 1) {
    const word = before[index] ?? '';
    const option = command.options.find(({ long, short }) => word === long || word === short);
    if (option?.required === true) {
      if (index === before.length - 1) return valuesOf(option, { before, cli });
      index += 1;
    } else if (!word.startsWith('-')) {
      const sub = command.commands.find((each) => each.name() === word);
      if (sub === undefined) positionals += 1;
      else command = sub;
    }
  }
  if (current.startsWith('-')) return optionsOf(command);
  if (command.commands.length > 0)
    return positionals > 0 ? [] : command.commands.map((each) => ({ word: each.name(), meaning: each.summary() }));
  const argument = command.registeredArguments[positionals];
  if (argument?.argChoices !== undefined) return argument.argChoices.map((word) => ({ word, meaning: '' }));
  if (argument?.name() === 'runId') return runIds(cli);
  if (argument?.name() === 'story') return storyIds(before, cli);
  if (argument?.name() === 'key' && command.parent?.name() === 'config')
    return (await listKeys()).map((word) => ({ word, meaning: '' }));
  return takesPrdName(argument?.name(), command) ? prdNames(cli) : [];
}

function optionsOf(command: Command): Completion[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({ word: option.long ?? option.short ?? '', meaning: option.description }));
}

/** The possible values of an option; none if it takes a file or any text. */
async function valuesOf(option: Option, { before, cli }: { before: string[]; cli: Cli }): Promise<Completion[]> {
  if (option.argChoices !== undefined) return option.argChoices.map((word) => ({ word, meaning: '' }));
  switch (option.long) {
    case '--story':
      return storyIds(before, cli);
    case '--after':
    case '--resume':
      return runIds(cli);
    case '--profile':
      return (await profileNames(cli)).map((word) => ({ word, meaning: 'a profile' }));
    case '--config':
      return (await listKeys()).map((key) => ({ word: `${key}=`, meaning: '' }));
    default:
      return [];
  }
}

/** For the run that the words before name, by default the newest one of this repository. */
async function storyIds(before: readonly string[], cli: Cli): Promise<Completion[]> {
  const [, named] = before.filter((word) => !word.startsWith('-'));
  const stories = await cli.withRun(
    named,
    async (operations, id) => (await operations.getRun({ runId: id })).state.stories,
  );
  return stories.map(({ id, title }) => ({ word: id, meaning: title }));
}

/** A new PRD needs an unused name. */
function takesPrdName(argument: string | undefined, command: Command): boolean {
  return argument === 'prd' || (argument === 'name' && command.name() !== 'new');
}

async function prdNames({ cwd }: Cli): Promise<Completion[]> {
  return (await listPrdNames(cwd)).map((word) => ({ word, meaning: 'a PRD of this repository' }));
}

/** Of the runs, the newest are completed. */
const MAX_RUNS = 200;

async function runIds(cli: Cli): Promise<Completion[]> {
  const { runs } = await cli.withOperations((operations) => operations.listRuns({ newest: MAX_RUNS }));
  return runs.map((run) => ({ word: run.runId, meaning: `${run.stopReason ?? run.status}, ${run.project}` }));
}

async function listKeys(): Promise<string[]> {
  const { CONFIG_KEYS } = await import('../../config/keys.ts');
  return [...CONFIG_KEYS.keys()];
}

async function profileNames(cli: Cli): Promise<string[]> {
  const { listProfiles } = await import('../../api/repository/repo-config.ts');
  return listProfiles({ host: await cli.services.readHost(), folder: cli.cwd });
}
