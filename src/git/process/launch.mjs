// Runs commands for the process that starts it, over the IPC channel: see launcher.ts. Exits with its parent.
import { createRunner } from './commands.mjs';

const { handle, stopAll } = createRunner((message) => {
  if (process.connected) process.send(message);
});

process.on('disconnect', () => process.exit());
process.on('exit', stopAll);
process.on('message', handle);
