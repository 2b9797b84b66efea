import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, vi } from 'vitest';
import { runIn, test } from './engine-contract/engine-fixture.ts';

test('a program on a terminal has the last size of it, also when several follow each other quickly', async ({
  start,
}) => {
  const sandbox = await start();
  const waits = new PassThrough();
  const running = runIn(sandbox, 'read -r _', { stdin: waits });
  const resized = new EventEmitter();
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = '';
  output.on('data', (data: Buffer) => (shown += data.toString()));
  let size = { rows: 24, columns: 80 };
  const onResize = (listener: () => void) => {
    resized.on('resize', listener);
    return () => resized.off('resize', listener);
  };
  const shell = sandbox.runOnTerminal('exec sh', { input, output, size: () => size, onResize });
  for (let round = 1; round <= 10; round++) {
    for (let rows = 1; rows <= 8; rows++) {
      size = { rows, columns: 80 + round };
      resized.emit('resize');
    }
    const asks = () => {
      input.write('echo "size is" $(stty size)\n');
      expect(shown).toContain(`size is 8 ${80 + round}\r`);
    };
    await vi.waitFor(asks, { timeout: 5000, interval: 100 });
  }
  input.write('exit 3\n');
  expect(await shell).toBe(3);
  waits.end();
  await running;
});
