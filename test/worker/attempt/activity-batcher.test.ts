import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { AgentActivity } from '../../../src/core/agent.ts';
import { openTeller } from '../../../src/worker/tell-activities.ts';

const command = (nth: number): AgentActivity => ({ kind: 'run', command: `npm run ${nth}` });

/** A journal that is as slow as the test says. */
function openJournal() {
  const told: AgentActivity[][] = [];
  const writing: (() => void)[] = [];
  const teller = openTeller((activities) => {
    told.push([...activities]);
    return new Promise((resolve) => writing.push(resolve));
  });
  return { told, teller, written: () => writing.shift()?.() };
}

it('tells at once, and together what comes meanwhile, in its order', async () => {
  const { told, teller, written } = openJournal();
  await teller.tell([command(1)]);
  expect(told).toEqual([[command(1)]]);
  await teller.tell([command(2)]);
  await teller.tell([]);
  await teller.tell([command(3), { kind: 'say', text: 'a' }]);
  await teller.tell([{ kind: 'say', text: 'b' }]);
  expect(told).toHaveLength(1);
  written();
  await setImmediate();
  expect(told[1]).toEqual([command(2), command(3), { kind: 'say', text: 'a\nb' }]);
  written();
  await teller.done();
  await teller.tell([command(4)]);
  expect(told[2]).toEqual([command(4)]);
});

it('holds up an agent that does more than can be told', async () => {
  const { told, teller, written } = openJournal();
  await teller.tell([command(0)]);
  const many = Array.from({ length: 101 }, (_, nth) => command(nth + 1));
  let goesOn = false;
  const held = teller.tell(many).then(() => (goesOn = true));
  await setImmediate();
  expect(goesOn).toBe(false);
  written();
  await setImmediate();
  written();
  await held;
  expect(told).toEqual([[command(0)], many]);
});

it('rejects once something could not be told', async () => {
  const teller = openTeller(() => Promise.reject(new Error('the run is another’s')));
  await teller.tell([command(1)]);
  await setImmediate();
  await expect(teller.tell([command(2)])).rejects.toThrow('the run is another’s');
  await expect(teller.done()).rejects.toThrow('the run is another’s');
});
