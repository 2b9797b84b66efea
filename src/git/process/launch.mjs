// Runs commands for halo, each until it ends: see launcher.ts. Receives over the IPC channel { id, command, options, input }
// or { id, abort: true }, and answers { id, result }. Exits with its parent.
import { execa } from 'execa';

const running = new Map();

process.on('disconnect', () => process.exit());
process.on('message', (request) => (request.abort ? running.get(request.id)?.abort() : void run(request)));

async function run({ id, command: [program, ...args], options, input }) {
  const controller = new AbortController();
  running.set(id, controller);
  const child = execa(program, args, { ...options, cancelSignal: controller.signal });
  if (input !== undefined) {
    child.stdin.on('error', () => undefined); // git may stop reading early; its exit code reports why
    child.stdin.end(input);
  }
  const { exitCode, stdout, stderr, timedOut, isMaxBuffer, isCanceled } = await child;
  running.delete(id);
  if (!process.connected) return;
  process.send({ id, result: { exitCode, stdout, stderr, timedOut, isMaxBuffer, isCanceled } });
}
