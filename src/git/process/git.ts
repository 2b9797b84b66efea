import type { Readable } from 'node:stream';
import { isDiskFullMessage, HaloError } from '../../core/failure/errors.ts';
import { environmentFor, type Trust } from './environment.ts';
import { ignore } from '../../lib/async.ts';
import { findProgram } from '../../lib/fs.ts';
import { withLimits } from './git-limits.ts';
import { Launcher, startHere } from './launcher.ts';
import { reasonOf } from './git-output.ts';
import { defined } from '../../lib/guards.ts';

export interface GitOptions {
  /** The repository: git never searches for one with `sealed` trust. */
  gitDir?: string;
  /** Default `/`, where no attributes file lies. */
  cwd?: string;
  /** `file`: the path of a regular file. */
  input?: string | Uint8Array | { file: string };
  /** Stdout goes to a new file at this path, and none is returned. If git fails, a part remains: use a temporary name. */
  outputFile?: string;
  env?: Record<string, string>;
  /** Maximum size of stdout; default 64 MiB. */
  maxBytes?: number;
  /** Default 10 minutes. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Exit codes that are not failures; default: only 0. */
  ok?: number[];
  /** Default `sealed`. */
  trust?: Trust;
  /** Transports that git may use, separated by colons; default none. */
  protocols?: string;
  /**
   * What it writes is on the disk when it ends, contents before what names them. The names of files are not: see
   * `durable.ts`. Default: what this repository is configured for.
   */
  durable?: boolean;
  /** Maximum address space of the process; default: unlimited. */
  memoryBytes?: number;
  /** Maximum size of each file that it writes; it fails with "File too large" then. Default: unlimited. */
  fileBytes?: number;
  /** Git settings that override those of all config files. */
  settings?: Readonly<Record<string, string>>;
}

interface GitResult {
  stdout: Buffer;
  stderr: string;
  exitCode: number;
}

/** The `cause` of a GIT_FAILED whose command exceeded its time or output limit. */
export const AT_LIMIT = 'a limit was reached';

/** How a git process ended, without judgement. `exitCode` is undefined when a signal ended it. */
export interface GitOutcome {
  ended: 'exited' | 'timeout' | 'too-much-output' | 'aborted';
  exitCode: number | undefined;
  /** It could not be run, or its end is not known: the host is the cause, whatever its input was. */
  isLost: boolean;
  stdout: Buffer;
  stderr: string;
}

/**
 * Runs one git command to its end. Throws GIT_MISSING, GIT_FAILED (with the command and git's last
 * words) and RUN_ABORTED.
 */
export async function git(args: string[], own: GitOptions = {}): Promise<GitResult> {
  const options = withLimits(own);
  const outcome = await runGit(args, options);
  const { exitCode, stdout, stderr } = outcome;
  if (outcome.ended !== 'exited' || exitCode === undefined || !(options.ok ?? [0]).includes(exitCode)) {
    throw failureOf(args, outcome, options);
  }
  return { stdout, stderr, exitCode };
}

/** The output of one git command as text, without the line ending. */
export async function gitText(args: string[], options: GitOptions = {}): Promise<string> {
  return (await git(args, options)).stdout.toString('utf8').replace(/\n$/, '');
}

/** Like `git`, but returns failures instead of throwing: for commands with hostile input. Throws GIT_MISSING. */
export function tryGit(args: string[], options: GitOptions = {}): Promise<GitOutcome> {
  return runGit(args, withLimits(options));
}

async function runGit(args: string[], options: GitOptions): Promise<GitOutcome> {
  const command = await describeCall(args, options);
  const result = await (isLaunchable(options) ? launcher().run(command) : startProcess(command));
  return { ...judge(result), stdout: Buffer.from(result.stdout ?? new Uint8Array()) };
}

interface GitStream {
  /** Destroyed when git fails; read it to its end. */
  stdout: Readable;
  /** Settles when git ended; rejects like `git`. */
  done: Promise<void>;
}

/** Runs one git command whose output is too large to keep, and that connects to no server. `maxBytes` does not count here. */
export async function gitStream(args: string[], own: Omit<GitOptions, 'protocols'> = {}): Promise<GitStream> {
  const options = withLimits(own);
  const command = await describeCall(args, { ...options, maxBytes: MAX_WORDS_BYTES });
  const { stdout, done } = launcher().stream(command);
  const judged = done.then((result) => {
    const outcome = judge(result);
    const { ended, exitCode } = outcome;
    if (ended === 'exited' && exitCode !== undefined && (options.ok ?? [0]).includes(exitCode)) return;
    throw failureOf(args, outcome, options);
  });
  // A reader receives the error, also one that begins later.
  stdout.on('error', ignore);
  judged.catch((error: unknown) => stdout.destroy(error as Error));
  return { stdout, done: judged };
}

/** Of stderr, while stdout is streamed. */
const MAX_WORDS_BYTES = 1024 * 1024;

/** How a command is started. Throws GIT_MISSING. */
async function describeCall(args: string[], options: GitOptions) {
  const { trust = 'sealed', protocols = '', durable = false, input, signal } = options;
  const program = await locateGit();
  const syncs = durable ? await gitVersion(program) : undefined;
  const { env, inherit, config } = environmentFor(program, { trust, protocols, syncs });
  const place = options.gitDir === undefined ? [] : [`--git-dir=${options.gitDir}`];
  const more = asVariables(options.settings ?? {});
  return {
    command: limit([program, ...config, ...more.args, ...place, ...args], options),
    options: {
      cwd: options.cwd ?? '/',
      env: { ...env, ...options.env, ...more.env },
      extendEnv: inherit,
      maxBuffer: options.maxBytes ?? 64 * 1024 * 1024,
      timeout: options.timeoutMs ?? 600_000,
      ...defined({ outputFile: options.outputFile }),
    },
    input,
    signal,
  };
}

type GitCall = Awaited<ReturnType<typeof describeCall>>;

/** Runs a command that may ask the user for a passphrase, which only a child of a process with a terminal can. */
async function startProcess({ command, options: { outputFile, ...options }, input, signal }: GitCall) {
  const [program = '', ...args] = command;
  const isFile = typeof input === 'object' && 'file' in input;
  if (outputFile !== undefined || isFile)
    throw new HaloError('INTERNAL', 'A command that connects to a server has no files.');
  const { execa } = await import('../../lib/execa.ts');
  const child = execa(program, args, {
    ...options,
    stdin: input === undefined ? 'ignore' : 'pipe',
    encoding: 'buffer',
    reject: false,
    stripFinalNewline: false,
    ...defined({ cancelSignal: signal }),
  });
  child.stdin?.on('error', ignore); // git may stop reading early; its exit code reports why
  child.stdin?.end(input);
  return child;
}

let shared: { launcher: Launcher; users: number } | undefined;

/** For processes that run few commands. */
const here = new Launcher(startHere);

function launcher(): Launcher {
  return shared?.launcher ?? here;
}

/**
 * Lets a process that runs many git commands run them in a small process: see `Launcher`. Commands that connect to a server
 * and may ask the user for a passphrase still run as children of this process.
 */
export function openGitLauncher(): { close(): void } {
  shared ??= { launcher: new Launcher(), users: 0 };
  shared.users += 1;
  shared.launcher.prepare();
  // What they write is to be durable, and landing a story is not to wait for this.
  locateGit().then(gitVersion).catch(ignore);
  return {
    close: () => {
      if (shared === undefined || --shared.users > 0) return;
      shared.launcher.close();
      shared = undefined;
    },
  };
}

/** Runs another program like git, as a child of the small process if there is one. Throws if it fails. */
export async function runProgram(program: string, args: string[]): Promise<void> {
  const call = { command: [program, ...args], options: {}, input: undefined, signal: undefined };
  const { exitCode, stderr } = await launcher().run(call);
  if (exitCode !== 0) throw new Error(`${program} failed: ${Buffer.from(stderr ?? []).toString('utf8')}`);
}

function isLaunchable({ protocols = '' }: GitOptions): boolean {
  return ['', 'file'].includes(protocols);
}

/** Passes settings in variables, because `-c` splits a key that contains an equals sign. */
function asVariables(settings: Readonly<Record<string, string>>): { args: string[]; env: Record<string, string> } {
  const named = Object.entries(settings).map(([key, value], index) => ({ key, value, name: `HALO_GIT_${index}` }));
  return {
    args: named.map(({ key, name }) => `--config-env=${key}=${name}`),
    env: Object.fromEntries(named.map(({ name, value }) => [name, value])),
  };
}

/**
 * Starts the process through a shell, because Node cannot set limits for one process. Blocks of `ulimit -f` have 512 bytes
 * (POSIX). Without the trap, a signal would end git without a message.
 */
function limit(line: string[], { memoryBytes, fileBytes }: Pick<GitOptions, 'memoryBytes' | 'fileBytes'>): string[] {
  const limits = [
    ...(memoryBytes === undefined ? [] : [`ulimit -v ${Math.floor(memoryBytes / 1024)} 2>/dev/null`]),
    ...(fileBytes === undefined ? [] : [`trap '' XFSZ; ulimit -f ${Math.floor(fileBytes / 512)} 2>/dev/null`]),
  ];
  return limits.length === 0 ? line : ['/bin/sh', '-c', `${limits.join('; ')}; exec "$0" "$@"`, ...line];
}

interface ProcessResult {
  exitCode?: number | undefined;
  signal?: string | undefined;
  stderr?: string | Uint8Array | undefined;
  /** Of execa: why there is neither an exit code nor a signal. */
  originalMessage?: string | undefined;
  timedOut: boolean;
  isMaxBuffer: boolean;
  isCanceled: boolean;
}

function judge(result: ProcessResult): Omit<GitOutcome, 'stdout'> {
  const { exitCode, signal, originalMessage } = result;
  const ended = endOf(result);
  const isLost = ended === 'exited' && exitCode === undefined && signal === undefined;
  const words = Buffer.from(result.stderr ?? new Uint8Array()).toString('utf8');
  const stderr = isLost && words === '' ? `error: ${originalMessage ?? 'it could not be run'}` : words;
  return { ended, exitCode, isLost, stderr };
}

function endOf(result: ProcessResult): GitOutcome['ended'] {
  if (result.isCanceled) return 'aborted';
  if (result.timedOut) return 'timeout';
  return result.isMaxBuffer ? 'too-much-output' : 'exited';
}

/** The error of a git command that did not end as it should. */
export function failureOf(
  args: string[],
  outcome: Omit<GitOutcome, 'stdout'> & Partial<Pick<GitOutcome, 'stdout'>>,
  options: GitOptions,
): HaloError {
  const command = `git ${args.find((word, index) => !word.startsWith('-') && args[index - 1] !== '-c') ?? args[0] ?? ''}`;
  if (outcome.ended === 'aborted') return new HaloError('RUN_ABORTED', `${command} was cancelled.`);
  if (outcome.ended === 'timeout') {
    const seconds = Math.round((options.timeoutMs ?? 600_000) / 1000);
    return new HaloError('GIT_FAILED', `${command} did not end within ${seconds} seconds.`, { cause: AT_LIMIT });
  }
  if (outcome.ended === 'too-much-output') {
    return new HaloError('GIT_FAILED', `${command} printed more output than halo accepts.`, { cause: AT_LIMIT });
  }
  const where = options.gitDir ?? options.cwd;
  const words = reasonOf(outcome) ?? `exit code ${outcome.exitCode ?? 'none, it was killed'}`;
  return gitFailure(`${command} failed${where === undefined ? '' : ` in ${where}`}: ${words}`);
}

/** Returns GIT_FAILED, or DISK_FAILED when the message reports a full disk or too many open files. */
export function gitFailure(message: string): HaloError {
  if (/too many open files/i.test(message))
    return new HaloError('DISK_FAILED', message, { hint: 'Raise the limit of open files (ulimit -n).' });
  if (!isDiskFullMessage(message)) return new HaloError('GIT_FAILED', message);
  return new HaloError('DISK_FAILED', message, { hint: 'Free some space on the disk.' });
}

let located: string | undefined;

/** Looked up once on the operator's PATH. Throws GIT_MISSING. */
async function locateGit(): Promise<string> {
  located ??= await findProgram('git', process.env['PATH']);
  if (located !== undefined) return located;
  throw new HaloError('GIT_MISSING', 'There is no git on the PATH.', {
    hint: 'Install git 2.31 or newer (Debian: apt-get install git).',
  });
}

let version: Promise<string> | undefined;

/** Asked once, for example `2.39.5`. */
function gitVersion(program: string): Promise<string> {
  version ??= readVersion(program).catch((error: unknown) => {
    version = undefined;
    throw error;
  });
  return version;
}

async function readVersion(program: string): Promise<string> {
  const result = await here.run({ command: [program, 'version'], options: {}, input: undefined, signal: undefined });
  const { isLost, stderr } = judge(result);
  if (isLost) throw gitFailure(`git cannot be run: ${stderr}`);
  const words = Buffer.from(result.stdout ?? []).toString('utf8');
  return words.trim().replace('git version ', '');
}
