// Runs commands for halo, each until it ends: in a small process (launch.mjs) or in this one. It imports nothing else,
// because that process is to be small.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

const KILL_AFTER_MS = 5_000;
/** How much of a stream is on its way to a reader that has not taken it yet. */
const WINDOW_BYTES = 1024 * 1024;
/** Codes of the system for a program that cannot be started because of open files. */
const TOO_MANY_FILES = ['EMFILE', 'ENFILE'];

/**
 * `handle` receives { id, command, options, input }, { id, abort: true }, { id, taken: <bytes> } or { id, leave: true }, and
 * calls `reply` with { id, chunk } for a stream, and with { id, result }. `stopAll` ends all commands.
 */
export function createRunner(reply) {
  /** The commands that are running, by id: functions for the messages about them. */
  const running = new Map();

  function handle(request) {
    const { id, abort, leave, taken } = request;
    if (abort) running.get(id)?.stop('isCanceled');
    else if (leave) running.get(id)?.leave();
    else if (taken !== undefined) running.get(id)?.take(taken);
    else run(request);
  }

  function run({ id, command: [program, ...args], options, input }) {
    const { cwd, env, extendEnv = true, timeout = 0, maxBuffer = Infinity, isStream = false, outputFile } = options;
    const how = { timedOut: false, isMaxBuffer: false, isCanceled: false };
    const output = { stdout: [], stderr: [] };
    let timer;
    const answer = (result) => {
      clearTimeout(timer);
      running.delete(id);
      reply({ id, result: { ...how, ...result } });
    };
    const fail = ({ code, message }) => {
      const why = TOO_MANY_FILES.includes(code) ? `${message} (too many open files)` : message;
      answer({ stderr: Buffer.from(`error: ${why}`) });
    };
    const files = [];
    const open = (path, flags) => {
      files.push(openSync(path, flags, 0o600));
      return files.at(-1);
    };
    let child;
    try {
      const stdin = input === undefined ? 'ignore' : input.file === undefined ? 'pipe' : open(input.file, 'r');
      const stdout = outputFile === undefined ? 'pipe' : open(outputFile, 'wx');
      const all = extendEnv ? { ...process.env, ...env } : env;
      child = spawn(program, args, { cwd, env: all, stdio: [stdin, stdout, 'pipe'] });
    } catch (error) {
      return fail(error);
    } finally {
      files.forEach(closeSync);
    }
    const stop = (why) => {
      if (why !== undefined && !Object.values(how).includes(true)) how[why] = true;
      // Its reader may not take the rest, and without that the command would not be over.
      if (isStream) child.stdout?.destroy();
      child.kill();
      setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS).unref();
    };
    let waiting = 0;
    const take = (bytes) => {
      waiting -= bytes;
      if (waiting < WINDOW_BYTES) child.stdout.resume();
    };
    if (timeout > 0) timer = setTimeout(stop, timeout, 'timedOut');
    running.set(id, { stop, take, leave: () => child.stdout?.destroy() });
    if (isStream)
      child.stdout?.on('data', (chunk) => {
        reply({ id, chunk });
        waiting += chunk.length;
        if (waiting >= WINDOW_BYTES) child.stdout.pause();
      });
    for (const [name, chunks] of Object.entries(output)) {
      if (!child[name] || (isStream && name === 'stdout')) continue;
      let left = maxBuffer;
      child[name].on('data', (chunk) => {
        if (left >= 0) chunks.push(chunk.subarray(0, left));
        left -= chunk.length;
        if (left >= 0) return;
        child[name].destroy();
        stop('isMaxBuffer');
      });
    }
    child.once('error', fail);
    child.once('close', (code, signal) => {
      if (!running.has(id)) return;
      // Ctrl-C in a terminal also reaches the children of the process.
      if (signal === 'SIGINT') how.isCanceled = true;
      const [stdout, stderr] = Object.values(output).map((chunks) => Buffer.concat(chunks));
      answer({ exitCode: code ?? undefined, signal: signal ?? undefined, stdout, stderr });
    });
    if (!child.stdin) return;
    child.stdin.on('error', () => undefined); // git may stop reading early; its exit code reports why
    child.stdin.end(input);
  }

  return { handle, stopAll: () => running.forEach(({ stop }) => stop()) };
}
