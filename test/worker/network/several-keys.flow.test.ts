import { describe, expect } from 'vitest';
import { ask } from '../../gateway/client.ts';
import { it } from '../../support/fixtures.ts';
import { HOURS, openKeys } from './open-keys.ts';

describe('a model with several keys', () => {
  it('gets the same request with the next key during a pause of hours, and all workers use that', async ({
    home,
    link,
  }) => {
    const { attempt, events, keys } = await openKeys({ home, link }, [
      HOURS,
      { say: 'one' },
      { say: 'two' },
      { say: 'three' },
    ]);
    const [one, other] = [await attempt(), await attempt([], 'US-002')];
    expect((await ask(one.socket)).status).toBe(200);
    for (const { socket } of [one, other]) expect((await ask(socket)).status).toBe(200);
    expect(keys()).toEqual([1, 2, 2, 2]);
    expect(await events('key.paused')).toMatchObject([{ model: 'm', key: 1, of: 2, source: 'FIRST', why: 'provider' }]);
    expect(await events('model.paused')).toEqual([]);
  });

  it('has a pause until the first key may be used again, when all have one', async ({ home, link }) => {
    const early = { fail: 429, headers: { 'retry-after': '7200' } };
    const { attempt, events, keys } = await openKeys({ home, link }, [HOURS, early]);
    const { socket, stopped } = await attempt().then((gate) => ({
      socket: gate.socket,
      stopped: () => gate.stopped(),
    }));
    expect((await ask(socket)).status).toBe(400);
    const stop = stopped();
    const until = stop?.cause === 'pause' ? Date.parse(stop.pause.until) - Date.now() : 0;
    expect(until).toBeGreaterThan(7_100_000);
    expect(until).toBeLessThanOrEqual(7_200_000);
    expect((await ask(socket)).status).toBe(400);
    expect(keys()).toEqual([1, 2]);
    expect(await events('key.paused')).toMatchObject([{ key: 1 }, { key: 2, source: 'the file /keys/second' }]);
    expect(await events('model.paused')).toHaveLength(1);
  });

  it('hazard 64: uses each of nine keys once while all get pauses at the same time, for three models, and waits for the first', async ({
    home,
    link,
  }) => {
    const seconds = [9, 8, 7, 3, 5, 6, 4, 8, 9].map((hours) => hours * 3_600);
    const paused = seconds.map((wait) => ({ fail: 429, headers: { 'retry-after': String(wait) } }));
    const { attempt, events, keys } = await openKeys({ home, link, more: 7 }, [...paused, ...paused, ...paused]);
    const models = ['m', 'other', 'gpt-5.5'];
    const gates = await Promise.all(models.map((model) => attempt([`model.name=${model}`])));
    for (const [nth, gate] of gates.entries()) {
      const body = { model: models[nth], stream: true, input: [] };
      for (let times = 0; times < 2; times++) expect((await ask(gate.socket, { body })).status).toBe(400);
      const stop = gate.stopped();
      const until = stop?.cause === 'pause' ? Date.parse(stop.pause.until) - Date.now() : 0;
      expect(until).toBeGreaterThan(3 * 3_600_000 - 100_000);
      expect(until).toBeLessThanOrEqual(3 * 3_600_000);
    }
    expect(keys()).toEqual([1, 2, 3].flatMap(() => seconds.map((_, index) => index + 1)));
    expect(await events('key.paused')).toHaveLength(27);
    expect(await events('model.paused')).toHaveLength(3);
  });

  it.for([401, 402, 403])(
    'skips a key that is refused with %s if another one works, with a warning',
    async (status, { home, link }) => {
      const { attempt, events, keys } = await openKeys({ home, link }, [
        { fail: status },
        { say: 'one' },
        { say: 'two' },
      ]);
      const gate = await attempt();
      for (let nth = 0; nth < 2; nth++) expect((await ask(gate.socket)).status).toBe(200);
      expect(keys()).toEqual([1, 2, 2]);
      expect(await events('key.paused')).toMatchObject([{ key: 1, of: 2, source: 'FIRST', why: 'refused' }]);
      expect(gate.problem()).toBeUndefined();
    },
  );

  it('uses the next key for a minute when one has no quota, without a wait', async ({ home, link }) => {
    const { attempt, keys } = await openKeys({ home, link }, [{ fail: 429 }, { say: 'one' }, { say: 'two' }]);
    const gate = await attempt();
    for (let nth = 0; nth < 2; nth++) expect((await ask(gate.socket)).status).toBe(200);
    expect(keys()).toEqual([1, 2, 2]);
  });

  it.for([
    [401, 401, 'refused the key (HTTP status 401)'],
    [403, 403, 'refused the key (HTTP status 403)'],
    [429, 429, 'the quota of the account is used up'],
  ] as const)(
    'gives the error of one key if all answer with %s',
    async ([status, expected, sentence], { home, link }) => {
      const turns = [1, 2, 3, 4].map(() => ({ fail: status }));
      const { attempt, keys } = await openKeys({ home, link }, turns);
      const gate = await attempt();
      expect((await ask(gate.socket)).status).toBe(expected);
      expect(gate.problem()?.sentence).toContain(sentence);
      expect(keys()).toEqual([1, 2]);
    },
  );

  it('passes the whole error of one key on if the other one has a pause of hours', async ({ home, link }) => {
    const { attempt, keys } = await openKeys({ home, link }, [{ fail: 402 }, HOURS]);
    const gate = await attempt();
    const answer = await ask(gate.socket);
    expect(answer.status).toBe(402);
    expect(gate.problem()?.sentence).toContain('wants to be paid first');
    expect(keys()).toEqual([1, 2]);
  });

  it('waits for the other key during its pause if one was refused, and not for the refused one', async ({
    home,
    link,
  }) => {
    const { attempt, keys } = await openKeys({ home, link }, [{ fail: 401 }, HOURS]);
    const gate = await attempt();
    expect((await ask(gate.socket)).status).toBe(400);
    expect(gate.stopped()).toMatchObject({ cause: 'pause' });
    expect(keys()).toEqual([1, 2]);
  });
});
