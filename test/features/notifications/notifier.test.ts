import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { listEndpoints } from '../../../src/features/notifications/api/endpoints.ts';
import { foldRun } from '../../../src/core/journal/fold-run.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { writeOutages } from '../../../src/store/engine-outages.ts';
import { NotificationOutbox } from '../../../src/features/notifications/store/notification-outbox.ts';
import { Notifier } from '../../../src/features/notifications/worker/notifier.ts';
import { created, journalOf } from '../../support/journal.ts';
import { startReceiver } from '../../support/network/receiver.ts';
import { tempDir } from '../../support/temp-dir.ts';

const log = pino({ level: 'silent' });

test('a notifier that reads a run again sends what an endpoint has not received, and nothing twice', async () => {
  const [home, receiver] = [tempDir('halo-notify'), await startReceiver()];
  const endpoint = `type = "webhook"\nurl = "${receiver.url}"\nevents = ["all"]\nallow_private = true\n`;
  writeFileSync(join(home, 'config.toml'), `[notify.x]\n${endpoint}`);
  const notifier = new Notifier({ home, log, now: Date.now, env: {}, masker: openMasker() });
  const first = created();
  const entries = journalOf([first, { type: 'run.started' }, { type: 'run.ended', stopReason: 'SUCCESS', detail: '' }]);
  const take = async (count: number, isRepeated: boolean) => {
    const events = entries.slice(0, count);
    await notifier.begin();
    await notifier.take({
      runId: first.runId,
      events,
      state: foldRun(events)!,
      end: 0,
      ...(isRepeated && { isRepeated }),
    });
    notifier.flush(true);
    await notifier.settle();
  };
  await take(2, false);
  await take(3, true);
  const sent = receiver.received.map(({ body }) => (JSON.parse(body) as { type: string }).type);
  expect(sent).toEqual(['run.started', 'run.succeeded']);
  expect(await new NotificationOutbox(home).pending('x')).toEqual([]);
  await notifier.close();
  await receiver.close();
});

test('an engine that takes no stories for minutes is reported once, also by the next worker, and again after it has returned', async () => {
  const [home, receiver] = [tempDir('halo-notify'), await startReceiver()];
  const endpoint = `type = "webhook"\nurl = "${receiver.url}"\nallow_private = true\n`;
  writeFileSync(join(home, 'config.toml'), `[notify.x]\n${endpoint}`);
  const start = Date.now();
  const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString();
  const pass = async (minutes: number) => {
    const notifier = new Notifier({ home, log, now: () => start + minutes * 60_000, env: {}, masker: openMasker() });
    await notifier.begin();
    for (let turn = 0; turn < 2; turn += 1) {
      notifier.flush(true);
      await notifier.settle();
    }
    await notifier.close();
    return receiver.received.length;
  };
  const outage = { engine: 'build-2', since: at(0), why: 'away' } as const;
  await writeOutages(home, [outage]);
  expect([await pass(4), await pass(6), await pass(60)]).toEqual([0, 1, 1]);
  await writeOutages(home, []);
  expect(await pass(61)).toBe(1);
  await writeOutages(home, [{ ...outage, since: at(70) }]);
  expect([await pass(71), await pass(80)]).toEqual([1, 2]);
  expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({
    type: 'engine.lost',
    data: { engine: 'build-2', title: 'engine build-2 takes no stories', command: 'halo engine check build-2' },
  });
  await receiver.close();
});

test.each([
  ['is the same', 0, 6_000],
  ['was a day ahead during the failure', 86_400_000, 6_000],
  ['was three hours ahead during the failure', 3 * 3_600_000, 6_000],
  ['was a day ahead, and is now', 86_400_000, 86_400_000 + 6_000],
])('hazard 33: a notification that failed once is sent again if the clock %s', async (_name, aheadMs, laterMs) => {
  const home = tempDir('halo-notify');
  const start = Date.now();
  let now = start;
  const receiver = await startReceiver((response, count) => {
    if (count === 1) now = start + aheadMs;
    response.writeHead(count === 1 ? 500 : 204).end();
  });
  const endpoint = `type = "webhook"\nurl = "${receiver.url}"\nevents = ["all"]\nallow_private = true\n`;
  writeFileSync(join(home, 'config.toml'), `[notify.x]\n${endpoint}`);
  const notifier = new Notifier({ home, log, now: () => now, env: {}, masker: openMasker() });
  const first = created();
  const events = journalOf([first, { type: 'run.started' }]);
  await notifier.begin();
  await notifier.take({ runId: first.runId, events, state: foldRun(events)!, end: 0 });
  const pass = async () => {
    notifier.flush(false);
    await notifier.settle();
  };
  await pass();
  expect((await listEndpoints(home))[0]).toMatchObject({ waiting: 1, givenUp: 0 });
  expect((await listEndpoints(home))[0]!.why).toMatch(/500.*; the next try is at \d{4}-/);
  now = start + laterMs;
  await pass();
  expect(receiver.received).toHaveLength(2);
  expect(await new NotificationOutbox(home).pending('x')).toEqual([]);
  await notifier.close();
  await receiver.close();
});

test('a notification is given up after a day of waits, and not before', async () => {
  const [home, receiver] = [
    tempDir('halo-notify'),
    await startReceiver((response) => void response.writeHead(500).end()),
  ];
  const outbox = new NotificationOutbox(home);
  let now = Date.now();
  const start = now;
  const endpoint = `type = "webhook"\nurl = "${receiver.url}"\nevents = ["all"]\nallow_private = true\n`;
  writeFileSync(join(home, 'config.toml'), `[notify.x]\n${endpoint}`);
  const notifier = new Notifier({ home, log, now: () => now, env: {}, masker: openMasker() });
  const first = created();
  const events = journalOf([first, { type: 'run.started' }]);
  await notifier.begin();
  await notifier.take({ runId: first.runId, events, state: foldRun(events)!, end: 0 });
  for (;;) {
    notifier.flush(true);
    await notifier.settle();
    const [pending] = await outbox.pending('x');
    if (pending?.givenUp === true) break;
    now = Date.parse(pending!.notBefore!) + 1;
  }
  expect((now - start) / 3_600_000).toBeGreaterThanOrEqual(24);
  expect((now - start) / 3_600_000).toBeLessThan(26);
  await notifier.close();
  await receiver.close();
});
