// Runs commands for halo, each until it ends: see launcher.ts. Receives over the IPC channel { id, command, options, input }
// or { id, abort: true }, and answers { id, result }. Exits with its parent. It imports nothing, because it is to be small.
import { spawn } from 'node:child_process';

const KILL_AFTER_MS = 5_000;

/** What ends a command that is running, by its id. */
const running = new Map();

process.on('disconnect', () => process.exit());
process.on('exit', () => running.forEach((stop) => stop()));
process.on('message', (request) => (request.abort ? running.get(request.id)?.('isCanceled') : run(request)));

function run({ id, command: [program, ...args], options, input }) {
  const { cwd, env, extendEnv = true, timeout = 0, maxBuffer = Infinity } = options;
  const how = { timedOut: false, isMaxBuffer: false, isCanceled: false };
  const output = { stdout: [], stderr: [] };
  const answer = (result) => {
    clearTimeout(timer);
    if (running.delete(id) && process.connected) process.send({ id, result: { ...how, ...result } });
  };
  const child = spawn(program, args, {
    cwd,
    env: extendEnv ? { ...process.env, ...env } : env,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const stop = (why) => {
    if (why !== undefined && !Object.values(how).includes(true)) how[why] = true;
    child.kill();
    setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS).unref();
  };
  const timer = timeout > 0 ? setTimeout(stop, timeout, 'timedOut') : undefined;
  running.set(id, stop);
  for (const [name, chunks] of Object.entries(output)) {
    let left = maxBuffer;
    child[name].on('data', (chunk) => {
      chunks.push(chunk.subarray(0, left));
      left -= chunk.length;
      if (left >= 0) return;
      child[name].destroy();
      stop('isMaxBuffer');
    });
  }
  child.once('error', ({ message }) => answer({ stderr: Buffer.from(`error: ${message}`) }));
  child.once('close', (code) => {
    const [stdout, stderr] = Object.values(output).map((chunks) => Buffer.concat(chunks));
    answer({ exitCode: code ?? undefined, stdout, stderr });
  });
  if (input === undefined) return;
  child.stdin.on('error', () => undefined); // git may stop reading early; its exit code reports why
  child.stdin.end(input);
}
