import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { foldRun } from '../../../src/core/journal/fold-run.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { NotificationOutbox } from '../../../src/store/notification-outbox.ts';
import { Notifier } from '../../../src/worker/notify/notifier.ts';
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
