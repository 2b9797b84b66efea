import { readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { Help, type Command, type Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { STOP_REASONS, USAGE_EXIT } from '../../src/core/failure/stop-reason.ts';
import { createCli } from '../../src/cli/cli.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { openProcessIo } from '../../src/cli/process-io.ts';

const PAGE = new URL('../../docs/commands.md', import.meta.url);
const docs = await readFile(PAGE, 'utf8');
const program = await buildProgram(createCli(openProcessIo([])));

/** Each command that does something, by its full name. */
function commandsOf(command: Command, name: string): [string, Command][] {
  const own: [string, Command][] =
    command.commands.length === 0 || (command.parent !== null && command.options.length > 0) ? [[name, command]] : [];
  return [...own, ...command.commands.flatMap((sub) => commandsOf(sub, `${name} ${sub.name()}`))];
}

/** The sections of the page by the command that their heading names. */
const sections = new Map(
  docs
    .split(/^## /m)
    .slice(1)
    .map((text) => [/^`([^`]+)`/.exec(text)?.[1] ?? text.split('\n')[0] ?? '', text] as const),
);
const commands = commandsOf(program, 'halo');

describe('docs/commands.md', () => {
  it('has a section for each command, and no other', () => {
    const documented = [...sections.keys()].filter((heading) => heading.startsWith('halo '));
    expect(documented.sort()).toEqual(commands.map(([name, command]) => usageOf(name, command)).sort());
  });

  it('lists the options of each command as its help does', async () => {
    const page = commands.reduce((text, [name, command]) => withOptions(text, name, command), withCommonOptions(docs));
    // With HALO_TEST_RECORD the page is written.
    if (process.env.HALO_TEST_RECORD === undefined) expect(docs).toBe(page);
    else await writeFile(PAGE, page);
  });

  it.each(commands)('shows an example of %s', (name, command) => {
    expect(sections.get(usageOf(name, command))).toMatch(new RegExp(`^\\s*\\$ .*${name}`, 'm'));
  });
});

const pages = (await readdir(new URL('../../docs/', import.meta.url))).filter((name) => name.endsWith('.md'));

it.each(pages)('the command lines in docs/%s have commands and options that exist', (page) => {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const lines = [...text.matchAll(/(?<!`)`halo ([a-z][^`|\\]*)/g)].map(([, line = '']) => line.trim());
  expect(lines.filter((line) => !exists(line.split(' ')))).toEqual([]);
});

/** Whether these words name a command, and every option among them is one of it. */
function exists([name = '', ...words]: string[], within: Command = program): boolean {
  const command = within.commands.find((each) => each.name() === name);
  if (command === undefined) return false;
  const [next = ''] = words;
  if (command.commands.some((each) => each.name() === next)) return exists(words, command);
  const known = [...program.options, ...command.options].flatMap(({ long, short }) => [long, short]);
  return words.every((word) => !/^--?[a-z]/.test(word) || ['--help', '--color', ...known].includes(word.split('=')[0]));
}

it('the help of halo run lists every exit code, sorted', () => {
  const run = program.commands.find((command) => command.name() === 'run');
  let page = '';
  run?.configureOutput({ writeOut: (text) => (page += text) }).outputHelp();
  const listed = /Exit codes:\n([^]*?)\n\n/.exec(page)?.[1]?.match(/\d+/g)?.map(Number);
  const codes = new Set([USAGE_EXIT, ...Object.values(STOP_REASONS).map(({ exit }) => exit)]);
  expect(listed).toEqual([...codes].sort((a, b) => a - b));
});

describe('each help page', () => {
  it.each(commands)('each help page of %s has a purpose, examples and pointers', (_name, command) => {
    let page = '';
    command.configureOutput({ writeOut: (text) => (page += text) }).outputHelp();
    expect(command.description().length).toBeGreaterThan(20);
    expect(page).toContain('Examples:\n');
    for (const line of page.split('\n')) expect(line.length, line).toBeLessThanOrEqual(105);
  });
});

/** The page with the options of one command, between its heading and the next, in the line or list of `Options:`. */
function withOptions(text: string, name: string, command: Command): string {
  const [before, after = ''] = text.split(`\n## \`${usageOf(name, command)}\`\n`);
  const end = after.indexOf('\n## ');
  const section = after.slice(0, end).replace(OPTIONS, () => optionsOf(name, command));
  return `${before}\n## \`${usageOf(name, command)}\`\n${section}${after.slice(end)}`;
}

const OPTIONS = /^Options: .*\n|^Options:\n\n(?:- .*\n)+/m;

/** The page with the options that at least three commands have, below the heading `Common options`. */
function withCommonOptions(text: string): string {
  return text.replace(/(?<=^## Common options\n\n.*\n\n)(?:- .*\n)+/m, () =>
    COMMON.map((line) => `${line}\n`).join(''),
  );
}

/** Commands whose options other commands share. */
const SHARED = ['halo run', 'halo pause'];
const OF_SHARED = new Set(
  commands.filter(([name]) => SHARED.includes(name)).flatMap(([, { options }]) => options.map(describeOption)),
);
const ALL_OPTIONS = commands.flatMap(([, { options }]) => options.map(describeOption));
const COMMON = [...new Set(ALL_OPTIONS)]
  .filter((line) => !OF_SHARED.has(line) && ALL_OPTIONS.filter((each) => each === line).length > 2)
  .sort();

/** The options of a command. Common ones, and those that mean the same for a command in SHARED, are only named. */
function optionsOf(name: string, command: Command): string {
  let own = [...command.options];
  const take = (of: string, known: (line: string) => boolean) => {
    const same = own.filter((option) => known(describeOption(option)));
    own = own.filter((option) => !same.includes(option));
    return same.length === 0 ? [] : [`${of}: ${same.map(({ flags }) => `\`${flags}\``).join(', ')}`];
  };
  const shared = commands.flatMap(([each, other]) => {
    if (!SHARED.includes(each) || SHARED.includes(name)) return [];
    const known = other.options.map(describeOption);
    const anchor = usageOf(each, other)
      .toLowerCase()
      .replaceAll(/[^a-z ]/g, '')
      .replaceAll(' ', '-');
    return take(`as of [\`${each}\`](#${anchor})`, (line) => known.includes(line));
  });
  const named = [...shared, ...take('[common](#common-options)', (line) => COMMON.includes(line))];
  if (own.length === 0 && named.length === 1) return `Options: ${named.join('').replace(/^\[common\]\S+ /, '')}\n`;
  return `Options:\n\n${[...own.map(describeOption), ...named.map((line) => `- ${line}`)].join('\n')}\n`;
}

function describeOption(option: Option): string {
  const text = new Help()
    .optionDescription(option)
    .replace(/ \(choices: (?:"[^"]+", ){12,}"[^"]+"\)/, '; `--help` lists them')
    .replaceAll(/(?<!`)[^\s`]*<[^>\s]+>[^\s`,;)]*/g, '`$&`');
  return `- \`${option.flags}\`: ${text}`;
}

function usageOf(name: string, command: Command): string {
  const args = command.registeredArguments.map((each) => (each.required ? `<${each.name()}>` : `[${each.name()}]`));
  return [name, ...args].join(' ');
}
