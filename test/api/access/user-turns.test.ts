import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { UserTurns } from '../../../src/api/access/user-turns.ts';
import { errorOf } from '../../support/error-of.ts';

/** A promise that ends when the test says so. */
function openGate(): { opened: Promise<void>; open: () => void } {
  let open = () => undefined as void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

describe('work that users share', () => {
  it('runs one at a time, and no user waits for all work of another one', async () => {
    const slots = new UserTurns({ what: 'tests', slots: 1, max: 3 });
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
    const slots = new UserTurns({ what: 'test', slots: 1, max: 1 });
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
    const slots = new UserTurns({ what: 'test', slots: 1, max: 1 });
    const end = openGate();
    const gone = new AbortController();
    const first = slots.run('ann', () => end.opened);
    const second = slots.run('ben', () => Promise.reject(new Error('began')), gone.signal);
    gone.abort();
    // Also while the work before it runs.
    await expect(second).rejects.toMatchObject({ code: 'RUN_ABORTED' });
    end.open();
    await first;
    expect(await slots.run('ben', () => Promise.resolve('again'))).toBe('again');
  });

  it('of one user runs at the same time up to a limit, while that of others begins', async () => {
    const turns = new UserTurns({ what: 'tests', running: 2, max: 3 });
    const end = openGate();
    const begun: string[] = [];
    const start = (user: string) =>
      turns.run(user, () => {
        begun.push(user);
        return end.opened;
      });
    const all = ['ann', 'ann', 'ann', 'ben'].map(start);
    await setImmediate();
    expect(begun).toEqual(['ann', 'ann', 'ben']);
    await expect(start('ann')).rejects.toThrow('User ann has 3 tests, which is the maximum.');
    end.open();
    await Promise.all(all);
    expect(begun).toEqual(['ann', 'ann', 'ben', 'ann']);
  });

  it('is counted without a turn until it ends', () => {
    const turns = new UserTurns({ what: 'streams', max: 2 });
    const [end] = [turns.take('ann'), turns.take('ann'), turns.take('ben')];
    expect(() => turns.take('ann')).toThrow('User ann has 2 streams, which is the maximum.');
    end();
    turns.take('ann');
  });
});
