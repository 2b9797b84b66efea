import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HaloError } from '../../src/core/failure/errors.ts';
import { readTerminal } from '../../src/config/environment/terminal-settings.ts';
import { takeColor } from '../../src/cli/process-io.ts';
import { COMMANDS } from '../../src/cli/program.ts';
import { runCli } from '../support/terminal/cli-world.ts';
import { hostOf } from '../support/halo/host.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openMemory } from '../support/memory-operations.ts';
import { succeeded } from '../support/journal.ts';
import { AGENT_IDS } from '../../src/core/agent.ts';

function halo(words: string[], terminal = {}) {
  return runCli(words, { operations: openMemory(), terminal });
}

function failing(error: Error, terminal = {}) {
  const operations = { ...openMemory(), listRuns: () => Promise.reject(error) };
  return runCli(['ls'], { operations, terminal });
}

it('an error on a terminal is wrapped between words, and elsewhere one line', async () => {
  const hint = `${'Say what is meant '.repeat(12)}at /a/path/${'x'.repeat(120)} again.`;
  const error = new HaloError('CONFIG_INVALID', `${'It is not right '.repeat(12)}here.`, { hint });
  const shown = (await failing(error, { shown: true })).stderr.trimEnd().split('\n');
  expect(shown.length).toBeGreaterThan(4);
  for (const line of shown) if (!line.includes('xxx')) expect(line.length).toBeLessThanOrEqual(100);
  const words = (text: string) => text.split(/\s+/).filter((word) => !/x/.test(word));
  expect(words(shown.join(' '))).toEqual(words(`error[CONFIG_INVALID]: ${error.message} hint: ${hint}`));
  expect((await failing(error)).stderr.split('\n')).toHaveLength(3);
});

describe('the command line', () => {
  it.each([
    [['runn'], "Unknown command 'runn'", 'Did you mean run?'],
    [['logs', 'x', '--storry', 'y'], "Unknown option '--storry'", 'Did you mean --story?'],
    [['replay', 'x'], "Required option '--story <id>'", '`halo replay --help`'],
    [['bogus'], "Unknown command 'bogus'", 'hint:  Run `halo --help` for usage.\n'],
    [['bogus', '--help'], "Unknown command 'bogus'", '`halo --help`'],
    [['prd', 'bogus', '--help'], "Unknown command 'bogus'", '`halo prd --help`'],
    [['config', 'shw'], "Unknown command 'shw'", 'Did you mean show? Run `halo config --help`'],
    [['config', 'show', '--jsn'], "Unknown option '--jsn'", 'Did you mean --json? Run `halo config show --help`'],
    [
      ['completion', 'tcsh'],
      '<shell> cannot be "tcsh". It must be one of bash, zsh, fish.',
      '`halo completion --help`',
    ],
    [['completion', 'fihs'], 'bash, zsh, fish; did you mean "fish"?', '`halo completion --help`'],
    [['ls', '--status', 'runing'], 'did you mean "running"?', '`halo ls --help`'],
    [['user', 'add', 'ada', '--role', 'opertor'], 'did you mean "operator"?', '`halo user add --help`'],
    [['cost', '--by', 'run,stroy'], 'separated by commas; did you mean "story"?', '`halo cost --help`'],
    [['errors', '--class', 'agnt'], 'did you mean "agent"?', '`halo errors --help`'],
    [['audit', '--type', 'story.aproved'], 'did you mean "story.approved"?', '`halo audit --help`'],
    [['submit', 'x.md', '--priority', 'hihg'], 'is not a priority; did you mean "high"?', 'Write high, normal, low'],
    [['run', '--parralel', '2'], "Unknown option '--parralel'", 'Did you mean `-c run.parallel=<value>`?'],
    // `-c` refuses a setting that only config.toml may have.
    [['run', '--per-repo', '2'], "Unknown option '--per-repo'", 'hint:  Run `halo run --help` for usage.\n'],
    [['submit', '--max-turns', '2'], "Unknown option '--max-turns'", 'Run `halo submit --help`'],
    [['logs', '--parralel', '2'], "Unknown option '--parralel'", 'hint:  Run `halo logs --help` for usage.\n'],
    [['up', '--workers', '-1'], 'whole number from 0', '`halo up --help`'],
    [['logs', 'x', '--attempt', '0'], '--attempt cannot be "0".', '`halo logs --help`'],
  ])('ends %j as wrong usage and suggests the correct form', async (words, message, hint) => {
    const result = await halo(words);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toMatch(/^error\[USAGE\]: /);
    expect(result.stderr).toContain(message);
    expect(result.stderr).toContain(hint);
  });

  it.each([
    [['list', '--help'], 'Usage: halo ls'],
    [['prd', 'ls', '--help'], 'Usage: halo prd list'],
    [['breaker', 'ls', '--help'], 'Usage: halo breaker list'],
    [['snapshot', 'remove', '--help'], 'Usage: halo snapshot rm'],
    [['user', 'list', '--help'], 'Usage: halo user ls'],
  ])('has both names of a list and of a removal: %j', async (words, usage) => {
    expect((await halo(words)).stdout).toContain(usage);
  });

  it('shows help and version on stdout', async () => {
    for (const words of [[], ['--help'], ['help'], ['-h']])
      expect(await halo(words)).toMatchObject({ code: 0, stdout: expect.stringContaining('Start:') as string });
    for (const words of [
      ['run', '--help'],
      ['help', 'run'],
    ])
      expect((await halo(words)).stdout).toContain('Usage: halo run [options] [prd]');
    expect((await halo(['--version'])).stdout).toMatch(/^halo \d+\.\d+\.\d+\n$/);
  });

  it('names itself lever where it is called so, with the commands of that tool', async () => {
    const lever = (words: string[]) => runCli(words, { operations: openMemory(), program: 'lever' });
    const { stdout } = await lever(['--help']);
    expect(stdout).toMatch(/^Usage: lever /);
    expect(stdout).toMatch(/^ {2}loop .*\n {2}task .*\n\n`lever <command> --help`/m);
    expect(stdout).not.toMatch(/^ {2}run /m);
    expect(await lever([])).toMatchObject({ code: 0, stdout });
    expect((await lever(['loop', '--help'])).stdout).toMatch(/^Usage: lever loop /);
    expect((await lever(['lop'])).stderr).toContain('Did you mean loop? Run `lever --help` for usage.');
  });

  it('shows every command below its heading, in the order of work', async () => {
    const { stdout } = await halo(['--help']);
    const headings = [...new Set(COMMANDS.map(({ heading }) => heading))];
    expect(stdout.split('\n').filter((line) => headings.includes(line))).toEqual(headings);
    for (const { name, summary } of COMMANDS)
      expect(stdout).toMatch(new RegExp(`^  ${name} .*${summary.slice(0, 20)}`, 'm'));
  });

  it.each(['prd', 'config', 'breaker'])('prints the help page of %s where no command follows it', async (group) => {
    const { stdout } = await halo([group, '--help']);
    expect(await halo([group])).toEqual({ code: 0, stdout, stderr: '' });
  });

  it('reports an error with its hint and exit code', async () => {
    const error = new HaloError('DOCKER_UNAVAILABLE', 'Docker does not answer.', { hint: 'Start it.' });
    expect(await failing(error)).toEqual({
      code: 5,
      stdout: '',
      stderr: 'error[DOCKER_UNAVAILABLE]: Docker does not answer.\nhint:  Start it.\n',
    });
  });

  it('prints an error as JSON with --json', async () => {
    const result = await halo(['logs', 'x', '--raw', '--json']);
    const message = '--raw and --json exclude each other.';
    const hint = 'Run `halo logs --help` for their meanings.';
    expect(JSON.parse(result.stdout)).toEqual({ error: { code: 'USAGE', message, hint } });
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(message) as string });
  });

  it('reports an unexpected error as a bug of halo', async () => {
    const result = await failing(new TypeError('x is not a function'));
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(/^error\[INTERNAL\]: x is not a function\nThis is a bug in halo \d.*\(Node.*\nhint:/);
    expect(result.stderr).not.toContain('at ');
    expect((await failing(new TypeError('x'), { debug: true })).stderr).toContain('caused by: TypeError: x\n    at ');
  });

  it('keeps a name at the start of an error as it is', async () => {
    const result = await failing(new HaloError('USAGE', 'plan exists already.'));
    expect(result.stderr).toContain('error[USAGE]: plan exists already.\n');
  });

  it('escapes terminal sequences in an error', async () => {
    const result = await failing(new HaloError('PRD_INVALID', 'Bad \u001b]0;x\u0007title \u001b[2J'));
    expect(result.stderr).toBe('error[PRD_INVALID]: Bad <U+001B>]0;x<U+0007>title <U+001B>[2J.\n');
  });

  it('uses color only if it is enabled', async () => {
    const operations = openMemory();
    operations.addRun(succeeded('r1'));
    const colored = await runCli(['logs', 'r1'], { operations, terminal: { color: { stdout: true, stderr: true } } });
    const plain = await runCli(['logs', 'r1'], { operations });
    expect(colored.stdout).toContain('\u001b[32m');
    expect(plain.stdout).not.toContain('\u001b');
  });
});

describe('readTerminal', () => {
  const tty = { stdout: { isTTY: true }, stderr: { isTTY: true } };
  const pipe = { stdout: {}, stderr: {} };

  it.each([
    ['a terminal', tty, {}, true, true],
    ['a terminal with NO_COLOR', tty, { NO_COLOR: '1' }, false, true],
    ['a dumb terminal', tty, { TERM: 'dumb' }, false, false],
    ['a terminal in CI', tty, { CI: 'true' }, true, false],
    ['a pipe', pipe, {}, false, false],
    ['a pipe with FORCE_COLOR', pipe, { FORCE_COLOR: '1' }, true, false],
  ])('detects the capabilities of %s', (_name, streams, env, color, drawable) => {
    const terminal = readTerminal(streams, env);
    expect(terminal.color.stdout).toBe(color);
    expect(terminal.drawable).toBe(drawable);
  });
});

it('--color takes precedence over the environment, at any position', async () => {
  const tty = { stdout: { isTTY: true }, stderr: { isTTY: true } };
  expect(readTerminal({ stdout: {}, stderr: {} }, { NO_COLOR: '1' }, 'always').color.stdout).toBe(true);
  expect(readTerminal(tty, { FORCE_COLOR: '1' }, 'never').color.stdout).toBe(false);
  expect(takeColor(['--color=never', 'ls', '--color=always', '--', '--color=never'])).toEqual({
    words: ['ls', '--', '--color=never'],
    mode: 'always',
  });
  expect(await halo(['ls', '--color=always'])).toMatchObject({ code: 0 });
  expect(await halo(['ls', '--color=sometimes'])).toMatchObject({ code: 2 });
});

describe('completion', () => {
  async function complete(...words: string[]) {
    const operations = openMemory();
    operations.addRun(succeeded('0aaa'));
    operations.addRun(succeeded('0bbb'));
    const home = tempDir();
    writeFileSync(join(home, 'config.toml'), '[profiles.ci.retry]\nattempts = 1\n');
    const services = { readHost: () => Promise.resolve(hostOf(home)) };
    const { stdout, code } = await runCli(['__complete', ...words], { operations, services });
    expect(code).toBe(0);
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t')[0]);
  }

  it('offers commands, subcommands, options, choices and run ids', async () => {
    expect(await complete('la')).toEqual(['land']);
    expect(await complete('config', '')).toEqual(['show']);
    expect(await complete('logs', '--')).toEqual(
      expect.arrayContaining(['--follow', '--story', '--gate', '--raw', '--json', '--help']),
    );
    expect(await complete('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(await complete('logs', '-f', '0b')).toEqual(['0bbb']);
    expect(await complete('logs', '--story', 'US-1', '')).toEqual(['0bbb', '0aaa']);
  });

  it('offers values of options', async () => {
    expect(await complete('run', '--agent', '')).toEqual([...AGENT_IDS]);
    expect(await complete('logs', '0b', '--story', '')).toEqual(['US-001']);
    expect(await complete('show', '0b', '')).toEqual(['US-001']);
    expect(await complete('submit', '--profile', '')).toEqual(['ci']);
    expect(await complete('run', '-c', 'retry.att')).toEqual(['retry.attempts=']);
    expect(await complete('config', 'show', 'limits.mem')).toEqual(['limits.memory']);
    expect(await complete('submit', '--after', '')).toEqual(['0bbb', '0aaa']);
    expect(await complete('run', '--agent=co')).toEqual(['--agent=codex', '--agent=command']);
    // As bash splits it.
    expect(await complete('run', '--agent', '=', 'co')).toEqual(['codex', 'command']);
    expect(await complete('run', '--agent', '=')).toEqual([...AGENT_IDS]);
  });

  it('leaves files and free values to the shell', async () => {
    expect(await complete('run', '')).toEqual(['']);
    expect(await complete('run', '--repo', '')).toEqual(['']);
    expect(await complete('no-such', '')).toEqual(['']);
  });

  it.each(['bash', 'zsh', 'fish'])('prints a script for %s that queries halo itself', async (shell) => {
    expect((await halo(['completion', shell])).stdout).toContain('halo __complete');
  });
});

it('a command closes its operations even when it fails', async () => {
  let closed = 0;
  const operations = { ...openMemory(), close: () => Promise.resolve(void (closed += 1)) };
  expect((await runCli(['status', 'none'], { operations })).code).toBe(2);
  expect(closed).toBe(1);
});

describe('the output of every command', () => {
  it('passes one function that escapes terminal sequences, except for halo’s colors', async () => {
    const evil = 'a\u009d0;t\u009cb\u202ec\u001b[8md';
    const landed = { branch: evil, from: '0'.repeat(40), to: '1'.repeat(40) };
    const operations = { ...openMemory(), land: () => Promise.resolve(landed) };
    operations.addRun(succeeded('abc'));
    const land = (color: boolean) =>
      runCli(['land', 'abc'], {
        operations,
        terminal: { color: { stdout: color, stderr: color } },
      });
    const spelled = 'a<U+009D>0;t<U+009C>b<U+202E>c<U+001B>[8md';
    expect((await land(false)).stdout).toBe(`landed  ${spelled}  0000000..1111111\n`);
    expect((await land(true)).stdout).toBe(`\u001b[32mlanded\u001b[39m  ${spelled}  0000000..1111111\n`);
  });
});
