import { describe, expect, it } from 'vitest';
import { FairSlots } from '../../../src/api/access/fair-slots.ts';
import { errorOf } from '../../support/error-of.ts';

/** A promise that ends when the test says so. */
function openGate(): { opened: Promise<void>; open: () => void } {
  let open = () => undefined as void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

describe('work that users share', () => {
  it('runs one at a time, and no user waits for all work of another one', async () => {
    const slots = new FairSlots({ what: 'a test', slots: 1, perUser: 3 });
    const order: string[] = [];
    let atATime = 0;
    const work = (name: string) => async () => {
      expect((atATime += 1)).toBe(1);
      await Promise.resolve();
      atATime -= 1;
      order.push(name);
    };
    const all = ['ann 1', 'ann 2', 'ann 3', 'ben 1', 'cy 1', 'ben 2'].map((name) =>
      slots.run(name.split(' ')[0]!, work(name)),
    );
    await Promise.all(all);
    expect(order).toEqual(['ann 1', 'ben 1', 'ann 2', 'cy 1', 'ann 3', 'ben 2']);
  });

  it('is limited for each user, also while it waits, and again possible when it has ended or failed', async () => {
    const slots = new FairSlots({ what: 'a test', slots: 1, perUser: 1 });
    const end = openGate();
    const first = slots.run('ann', () => end.opened);
    const waiting = slots.run('ben', () => Promise.reject(new Error('of ben')));
    for (const user of ['ann', 'ben'])
      expect(await errorOf(() => slots.run(user, () => Promise.resolve('never')))).toMatchObject({
        code: 'TOO_MANY_REQUESTS',
      });
    end.open();
    await first;
    await expect(waiting).rejects.toThrow('of ben');
    for (const user of ['ann', 'ben']) expect(await slots.run(user, () => Promise.resolve(user))).toBe(user);
  });

  it('does not begin for a client that has left', async () => {
    const slots = new FairSlots({ what: 'a test', slots: 1, perUser: 1 });
    const end = openGate();
    const gone = new AbortController();
    const first = slots.run('ann', () => end.opened);
    const second = slots.run('ben', () => Promise.reject(new Error('began')), gone.signal);
    gone.abort();
    end.open();
    await first;
    await expect(second).rejects.toThrow('aborted');
  });
});
