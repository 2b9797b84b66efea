import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { AgentActivity } from '../../../src/core/agent.ts';
import { openActivityBatcher } from '../../../src/worker/attempt/activity-batcher.ts';

const command = (nth: number): AgentActivity => ({ kind: 'run', command: `npm run ${nth}` });

/** A journal that is as slow as the test says. */
function openJournal() {
  const told: AgentActivity[][] = [];
  const writing: (() => void)[] = [];
  const teller = openActivityBatcher((activities) => {
    told.push([...activities]);
    return new Promise((resolve) => writing.push(resolve));
  });
  return { told, teller, written: () => writing.shift()?.() };
}

it('a batcher writes the first activity immediately, and later ones together in order', async () => {
  const { told, teller, written } = openJournal();
  await teller.add([command(1)]);
  expect(told).toEqual([[command(1)]]);
  await teller.add([command(2)]);
  await teller.add([]);
  await teller.add([command(3), { kind: 'say', text: 'a' }]);
  await teller.add([{ kind: 'say', text: 'b' }]);
  expect(told).toHaveLength(1);
  written();
  await setImmediate();
  // The next report waits for more, unless the agent has ended.
  expect(told).toHaveLength(1);
  const flushed = teller.flush();
  await setImmediate();
  expect(told[1]).toEqual([command(2), command(3), { kind: 'say', text: 'a\nb' }]);
  written();
  await flushed;
  await teller.add([command(4)]);
  expect(told[2]).toEqual([command(4)]);
});

it('a batcher slows down an agent that produces more than can be written', async () => {
  const { told, teller, written } = openJournal();
  await teller.add([command(0)]);
  const many = Array.from({ length: 101 }, (_, nth) => command(nth + 1));
  let goesOn = false;
  const held = teller.add(many).then(() => (goesOn = true));
  await setImmediate();
  expect(goesOn).toBe(false);
  written();
  await setImmediate();
  written();
  await held;
  expect(told).toEqual([[command(0)], many]);
});

it('a batcher rejects after a failed write', async () => {
  const teller = openActivityBatcher(() => Promise.reject(new Error('the run is another’s')));
  await teller.add([command(1)]);
  await setImmediate();
  await expect(teller.add([command(2)])).rejects.toThrow('the run is another’s');
  await expect(teller.flush()).rejects.toThrow('the run is another’s');
});
