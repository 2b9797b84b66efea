import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { AgentActivity } from '../../../src/core/agent.ts';
import { openActivityBatcher } from '../../../src/worker/attempt/phases/collect-agent-run.ts';

const command = (nth: number): AgentActivity => ({ kind: 'run', command: `npm run ${nth}` });

/** A journal that is as slow as the test says. */
function openJournal() {
  const reported: AgentActivity[][] = [];
  const writing: (() => void)[] = [];
  const batcher = openActivityBatcher((activities) => {
    reported.push([...activities]);
    return new Promise((resolve) => writing.push(resolve));
  });
  return { reported, batcher, written: () => writing.shift()?.() };
}

it('a batcher writes the first activity immediately, and later ones together in order', async () => {
  const { reported, batcher, written } = openJournal();
  await batcher.add([command(1)]);
  expect(reported).toEqual([[command(1)]]);
  await batcher.add([command(2)]);
  await batcher.add([]);
  await batcher.add([command(3), { kind: 'say', text: 'a' }]);
  await batcher.add([{ kind: 'say', text: 'b' }]);
  expect(reported).toHaveLength(1);
  written();
  await setImmediate();
  // The next report waits for more, unless the agent has ended.
  expect(reported).toHaveLength(1);
  const flushed = batcher.flush();
  await setImmediate();
  expect(reported[1]).toEqual([command(2), command(3), { kind: 'say', text: 'a\nb' }]);
  written();
  await flushed;
  await batcher.add([command(4)]);
  expect(reported[2]).toEqual([command(4)]);
});

it('a batcher slows down an agent that produces more than can be written', async () => {
  const { reported, batcher, written } = openJournal();
  await batcher.add([command(0)]);
  const many = Array.from({ length: 101 }, (_, nth) => command(nth + 1));
  let isAdded = false;
  const held = batcher.add(many).then(() => (isAdded = true));
  await setImmediate();
  expect(isAdded).toBe(false);
  written();
  await setImmediate();
  written();
  await held;
  expect(reported).toEqual([[command(0)], many]);
});

it('a batcher rejects after a failed write', async () => {
  const batcher = openActivityBatcher(() => Promise.reject(new Error('the run is another’s')));
  await batcher.add([command(1)]);
  await setImmediate();
  await expect(batcher.add([command(2)])).rejects.toThrow('the run is another’s');
  await expect(batcher.flush()).rejects.toThrow('the run is another’s');
});
