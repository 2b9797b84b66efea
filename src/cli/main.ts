import { CommanderError, type Command } from 'commander';
import { HaloError, toHaloError } from '../core/failure/errors.ts';
import { safeText } from '../core/safe-text.ts';
import { USAGE_EXIT } from '../core/failure/stop-reason.ts';
import { findNearest } from '../lib/text.ts';
import { createCli, type Cli } from './cli.ts';
import { wrapToWidth } from '../lib/wrap.ts';
import { complete } from './completion/complete.ts';
import { buildProgram, COMMANDS } from './program.ts';
import { version } from '../lib/version.ts';
import { takeColor } from './take-color.ts';
import { processWorld, type World } from './process-io.ts';

/** Runs one command line (the words after `halo`) and answers with the exit code. Never throws. */
export async function main(given: string[], world: World = processWorld(given)): Promise<number> {
  const { words } = takeColor(given);
  const cli = createCli(world);
  try {
    if (words[0] === '__complete') return await complete(words.slice(1), cli);
    return await perform(words, cli);
  } catch (error) {
    return await report(error, cli, asksForJson(words));
  }
}

async function perform(words: string[], cli: Cli): Promise<number> {
  if (words.length === 0) words = ['--help'];
  // `halo help run` is what some people type first.
  if (words[0] === 'help') words = [...words.slice(1, 3), '--help'];
  const name = words.find((word) => !word.startsWith('-'));
  const program = await buildProgram(
    cli,
    COMMANDS.map((entry) => entry.name).filter((known) => known === name),
  );
  const command = locate(program, words);
  // A command that is not there has no help page.
  const given = command.unknown === undefined ? words : words.filter((word) => word !== '--help' && word !== '-h');
  try {
    await program.parseAsync(given, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    if (error instanceof CommanderError && error.code === 'commander.help') {
      command.found.outputHelp();
      return 0;
    }
    if (error instanceof CommanderError) throw toUsageError(error, command);
    throw error;
  }
  return cli.exitCode;
}

/** A command as far as the words name one. */
interface Located {
  found: Command;
  /** The word that should name a command and does not. */
  unknown?: string;
}

function locate(program: Command, words: readonly string[]): Located {
  let found = program;
  for (const word of words) {
    if (found.commands.length === 0 || word === '--') break;
    if (word.startsWith('-')) continue;
    const next = found.commands.find((each) => each.name() === word);
    if (next === undefined) return { found, unknown: word };
    found = next;
  }
  return { found };
}

/** Commander's complaint, e.g. "error: unknown option '--jsn'\n(Did you mean --json?)", as an error of ours. */
function toUsageError(error: CommanderError, { found, unknown }: Located): HaloError {
  const names: string[] = [];
  for (let command: Command | null = found; command !== null; command = command.parent) names.unshift(command.name());
  const help = `\`${names.join(' ')} --help\` shows how it is used.`;
  const [first = ''] = error.message.split('\n');
  const meant = meantBy(error, { found, ...(unknown !== undefined && { unknown }) });
  const hint = meant === undefined ? help : `Did you mean ${meant}? ${help}`;
  return new HaloError('USAGE', inWords(first.replace(/^error: /, '')), { hint, cause: error });
}

/** A word close to the one that commander does not know. */
function meantBy(error: CommanderError, { found, unknown }: Located): string | undefined {
  if (error.code === 'commander.unknownCommand' && unknown !== undefined)
    return findNearest(
      unknown,
      found.commands.map((each) => each.name()),
    );
  const option = /^error: unknown option '([^']+)'/.exec(error.message)?.[1];
  if (error.code !== 'commander.unknownOption' || option === undefined) return undefined;
  return findNearest(
    option,
    found.options.flatMap(({ long }) => long ?? []),
  );
}

/** What commander says of a value, as halo says it. */
function inWords(message: string): string {
  const value =
    /^(?:option '(?:-\w, )?(--[\w-]+).*?' argument|command-argument value) '(.*?)' is invalid(?: for argument '(.*?)')?\. (.*)$/s;
  const [, option, given = '', argument, why = ''] = value.exec(message) ?? [];
  if (why === '') return message;
  const choices = why.replace(/^Allowed choices are (.*)\.$/, 'It must be one of $1.');
  return `${option ?? `<${argument}>`} cannot be ${JSON.stringify(given)}. ${choices}`;
}

/** An option of halo, not a word after `--`. */
function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return (end === -1 ? words : words.slice(0, end)).includes('--json');
}

async function report(thrown: unknown, cli: Cli, json: boolean): Promise<number> {
  const error = toHaloError(thrown);
  const { code, message, hint: advice, problems } = error;
  if (json) {
    const more = { ...(advice !== undefined && { hint: advice }), ...(problems.length > 0 && { problems }) };
    await cli.printJson({ error: { code, message, ...more } });
  }
  const label = `${cli.paintErr('bad', `error[${code}]`)}:`;
  const hint = (text: string) => wrapped(`${cli.paintErr('warn', 'hint:')}  ${capitalised(safeText(text))}`, cli);
  if (error.code === 'INTERNAL') {
    await cli.note(
      `${label} ${safeText(error.message)}`,
      `This is a fault in halo ${version()} (Node ${process.version}). Please report it.`,
      ...(cli.terminal.debug ? [] : hint('HALO_DEBUG=1 shows where it happened.')),
    );
  } else {
    const says = asSentence(safeText(error.message).trimEnd());
    await cli.note(...wrapped(`${label} ${says}`, cli), ...(error.hint === undefined ? [] : hint(error.hint)));
  }
  if (cli.terminal.debug) await cli.note(stackOf(error));
  return error.code === 'USAGE' ? USAGE_EXIT : error.exitCode;
}

/** A text in lines that end between words on a terminal, and as it is elsewhere. What follows the first is indented. */
function wrapped(text: string, cli: Cli): string[] {
  const { columns } = cli.screen;
  if (!cli.terminal.shown || columns === undefined) return [text];
  return text.split('\n').flatMap((line) => {
    const [first = '', ...rest] = wrapToWidth(line, columns);
    // Only where there is a space to break at: an address or a path stays whole.
    if (rest.length === 0 || !first.includes(' ')) return [line];
    return [first, ...wrapToWidth(rest.join(' '), Math.max(20, columns - 7)).map((each) => `       ${each}`)];
  });
}

/** Some messages are also parts of longer ones: here they stand alone. */
function asSentence(text: string): string {
  return capitalised(text.includes('\n') || /[.:!?]$/.test(text) ? text : `${text}.`);
}

/** A word first, not a path, a name of a program or an option. */
function capitalised(text: string): string {
  return /^(?!halo |git |npm |docker )[a-z]+[ ,’]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

function stackOf(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by: ${stackOf(error.cause)}` : own;
}
