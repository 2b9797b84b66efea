import { CommanderError, type Command } from 'commander';
import { HaloError, toHaloError } from '../core/failure/errors.ts';
import { safeText } from '../core/text/safe-text.ts';
import { USAGE_EXIT } from '../core/failure/stop-reason.ts';
import { closeSentence, findClosest } from '../core/text/did-you-mean.ts';
import { createCli, type Cli } from './cli.ts';
import { wrapIndented } from '../lib/string-width.ts';
import { complete } from './completion/complete.ts';
import { buildProgram, COMMANDS } from './program.ts';
import { haloVersion } from '../lib/version.ts';
import { openProcessIo, takeColor, type ProcessIo } from './process-io.ts';
import { defined } from '../lib/guards.ts';

/** Runs one command line (the words after `halo`) and returns the exit code. Never throws. */
export async function main(given: string[], io: ProcessIo = openProcessIo(given)): Promise<number> {
  const { words } = takeColor(given);
  const cli = createCli(io);
  try {
    if (words[0] === '__complete') return await complete(words.slice(1), cli);
    return await perform(words, cli);
  } catch (error) {
    return await report(error, cli, errorDocument(words));
  }
}

/** Whether a word is the name of a command. */
export function isCommand(word: string): boolean {
  return COMMANDS.some(({ name }) => name === word);
}

async function perform(words: string[], cli: Cli): Promise<number> {
  // At a terminal that can be drawn on, halo alone shows the runs.
  const shows = cli.program === 'halo' && cli.terminal.drawable && cli.ask !== undefined;
  if (words.length === 0) words = [shows ? 'top' : '--help'];
  // Some users type `halo help run`.
  if (words[0] === 'help') words = [...words.slice(1, 3), '--help'];
  const commands = COMMANDS.map((entry) => entry.name);
  const name = nameIn(commands, words.find((word) => !word.startsWith('-')) ?? '');
  const program = await buildProgram(cli, name === undefined ? [] : [name]);
  const command = locate(program, words);
  words = command.words;
  // An unknown command has no help page.
  const given = command.unknown === undefined ? words : words.filter((word) => word !== '--help' && word !== '-h');
  try {
    await program.parseAsync(given, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    if (error instanceof CommanderError && error.code === 'commander.help') {
      command.found.outputHelp();
      return 0;
    }
    if (error instanceof CommanderError) throw await toUsageError(error, command);
    throw error;
  }
  return cli.exitCode;
}

/** The command that the words name, as far as they match. */
interface Located {
  found: Command;
  /** The words with the names of the commands. */
  words: string[];
  /** The first word that should name a command but does not. */
  unknown?: string;
}

function locate(program: Command, given: readonly string[]): Located {
  let found = program;
  const words = [...given];
  for (const [index, word] of given.entries()) {
    if (found.commands.length === 0 || word === '--') break;
    if (word.startsWith('-')) continue;
    const names = found.commands.map((each) => each.name());
    const name = nameIn(names, word);
    const next = found.commands.find((each) => each.name() === name);
    if (name === undefined || next === undefined) return { found, words, unknown: word };
    words[index] = name;
    found = next;
  }
  return { found, words };
}

/** Each of two names works wherever a command has the other one. */
const SAME_NAMES = [
  ['ls', 'list'],
  ['rm', 'remove'],
];

/** The one of the names that a word means. */
function nameIn(names: readonly string[], word: string): string | undefined {
  const same = SAME_NAMES.find((each) => each.includes(word)) ?? [];
  return [word, ...same].find((each) => names.includes(each));
}

/** Converts an error of commander, e.g. "error: unknown option '--jsn'\n(Did you mean --json?)", to a HaloError. */
async function toUsageError(error: CommanderError, { found, unknown }: Omit<Located, 'words'>): Promise<HaloError> {
  const names: string[] = [];
  for (let command: Command | null = found; command !== null; command = command.parent) names.unshift(command.name());
  const help = `Run \`${names.join(' ')} --help\` for usage.`;
  const [first = ''] = error.message.split('\n');
  const meant = await meantBy(error, { found, ...defined({ unknown }) });
  const hint = meant === undefined ? help : `Did you mean ${meant}? ${help}`;
  return new HaloError('USAGE', capitalised(inWords(first.replace(/^error: /, ''), found)), { hint, cause: error });
}

/** A known word similar to one that commander does not know. */
async function meantBy(error: CommanderError, { found, unknown }: Omit<Located, 'words'>): Promise<string | undefined> {
  if (error.code === 'commander.unknownCommand' && unknown !== undefined)
    return findClosest(
      unknown,
      found
        .createHelp()
        .visibleCommands(found)
        .map((each) => each.name()),
    );
  const option = /^error: unknown option '([^']+)'/.exec(error.message)?.[1];
  if (error.code !== 'commander.unknownOption' || option === undefined) return undefined;
  const options = found.options.flatMap(({ long }) => long ?? []);
  const settings = options.includes('--config') ? await settingsAsOptions() : new Map<string, string>();
  const meant = findClosest(option, [...options, ...settings.keys()]);
  const setting = settings.get(options.includes(meant ?? '') ? '' : (meant ?? ''));
  return setting === undefined ? meant : `\`-c ${setting}=<value>\``;
}

/** The settings that `-c` accepts, by the option that users expect: `--parallel` for `run.parallel`. */
async function settingsAsOptions(): Promise<Map<string, string>> {
  const { CONFIG_KEYS } = await import('../config/keys.ts');
  const settable = [...CONFIG_KEYS.values()].filter(({ trust }) => trust.rule !== 'host-file');
  const names = settable.map(({ name }) => name).reverse();
  return new Map(names.map((name) => [`--${name.split('.').at(-1)?.replaceAll('_', '-') ?? ''}`, name]));
}

/** Rewords commander's message about a value of a command. */
function inWords(message: string, { options, registeredArguments }: Command): string {
  const value =
    /^(?:option '(?:-\w, )?(--[\w-]+).*?' argument|command-argument value) '(.*?)' is invalid(?: for argument '(.*?)')?\. (.*)$/s;
  const [, option, given = '', argument, why = ''] = value.exec(message) ?? [];
  if (why === '') return message;
  const taker =
    options.find(({ long }) => long === option) ?? registeredArguments.find((each) => each.name() === argument);
  const meant = closeSentence(given, taker?.argChoices ?? []);
  const rule = why.replace(
    /^Allowed choices are (.*)\.$/,
    (_, choices: string) => `It must be one of ${choices}${meant}`,
  );
  return `${option ?? `<${argument}>`} cannot be ${JSON.stringify(given)}. ${rule}`;
}

/** The fields beside `error` of the JSON document that a command prints if it fails; undefined: it prints text. */
function errorDocument(words: readonly string[]): object | undefined {
  if (words[0] === 'plugin') return { ok: false };
  return asksForJson(words) ? {} : undefined;
}

/** An option of halo, not a word after `--`. */
function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return (end === -1 ? words : words.slice(0, end)).includes('--json');
}

async function report(thrown: unknown, cli: Cli, document: object | undefined): Promise<number> {
  const error = toHaloError(thrown);
  const { code, message, hint: advice, problems, unconfirmed } = error;
  if (document !== undefined) {
    const more = { ...defined({ hint: advice, unconfirmed }), ...(problems.length > 0 && { problems }) };
    await cli.printJson({ ...document, error: { code, message, ...more } });
  }
  const label = `${cli.paintErr('bad', `error[${code}]`)}:`;
  const hint = (text: string) => wrapped(`${cli.paintErr('warn', 'hint:')}  ${capitalised(safeText(text))}`, cli);
  if (error.code === 'INTERNAL') {
    await cli.note(
      `${label} ${safeText(error.message)}`,
      `This is a bug in halo ${haloVersion()} (Node ${process.version}). Please report it.`,
      ...(cli.terminal.debug ? [] : hint('HALO_DEBUG=1 prints the stack trace.')),
    );
  } else {
    const says = asSentence(safeText(error.message).trimEnd());
    await cli.note(...wrapped(`${label} ${says}`, cli), ...(error.hint === undefined ? [] : hint(error.hint)));
  }
  if (cli.terminal.debug) await cli.note(stackOf(error));
  return error.code === 'USAGE' ? USAGE_EXIT : error.exitCode;
}

/** Wraps a text for a terminal, with all lines after the first indented; unchanged for other output. */
function wrapped(text: string, cli: Cli): string[] {
  const { columns } = cli.screen;
  if (!cli.terminal.shown || columns === undefined) return [text];
  return text.split('\n').flatMap((line) => {
    const [first = '', ...rest] = wrapIndented(line, columns);
    // Breaks lines only at spaces: an address or a path remains whole.
    if (rest.length === 0 || !first.includes(' ')) return [line];
    return [first, ...wrapIndented(rest.join(' '), Math.max(20, columns - 7)).map((each) => `       ${each}`)];
  });
}

/** Some messages are also used within longer ones: here they are complete sentences. */
function asSentence(text: string): string {
  return text.includes('\n') || /[.:!?]$/.test(text) ? text : `${text}.`;
}

/** Capitalizes a first word that is not a path, a program or an option. */
function capitalised(text: string): string {
  return /^(?!halo |git |npm |docker )[a-z]+[ ,’]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

function stackOf(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by: ${stackOf(error.cause)}` : own;
}
