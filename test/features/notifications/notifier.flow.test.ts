import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { readEndpoints } from '../../../src/features/notifications/config/endpoint-settings.ts';
import { checkEndpoints } from '../../../src/features/notifications/api/check-endpoints.ts';
import { listEndpoints, retryEndpoint } from '../../../src/features/notifications/api/endpoints.ts';
import { pino } from 'pino';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { openStore } from '../../../src/store/store.ts';
import { Notifier } from '../../../src/features/notifications/worker/notifier.ts';
import { NotificationOutbox } from '../../../src/features/notifications/store/notification-outbox.ts';
import { prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { created } from '../../support/journal.ts';
import { freePort } from '../../support/network/free-port.ts';
import { startReceiver, type Received } from '../../support/network/receiver.ts';
import { expireLeases } from '../../support/redis/expire-leases.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';

let home: HaloHome;
let side: string;
beforeAll(() => {
  home = openHome();
  side = tempDir('halo-notify');
});
afterEach(() => home.kill());
afterAll(() => home.close());

const configure = (text: string) => writeFileSync(join(home.dir, 'config.toml'), text);

/** A run that was cancelled before a worker could start it. */
async function addStoppedRun(): Promise<string> {
  const store = openStore(home.dir, { transcribe });
  const first = created(undefined, ['S-1']);
  await store.createRun(
    { ...first, prdIsHere: false },
    { haloVersion: '0.1.0', agent: { name: 'command' }, args: [], config: {} },
  );
  const end = { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'tess cancelled the run.' } as const;
  await store.append(first.runId, [end]);
  return first.runId;
}

const runOf = ({ body }: Received) => (JSON.parse(body) as { data: { run: string } }).data.run;
const idOf = ({ headers }: Received) => headers['webhook-id'];

describe('incident notification: notifications', () => {
  it('arrive although worker and receiver are killed, with the same id when they are sent again; other endpoints do not wait', async () => {
    // The first receiver dies before it answers.
    const port = await freePort();
    const dead = await startReceiver((response) => void response.destroy(), port);
    const steady = await startReceiver();
    const endpoint = (name: string, url: string) =>
      `[notify.${name}]\ntype = "webhook"\nurl = "${url}"\nevents = ["all"]\nallow_private = true\n`;
    configure(endpoint('first', dead.url) + endpoint('second', steady.url));
    const runs = [await addStoppedRun(), await addStoppedRun()];
    const worker = home.start(['worker'], { cwd: side });
    await vi.waitFor(() => expect(steady.received).toHaveLength(2), PATIENCE);
    await vi.waitFor(() => expect(dead.received).toHaveLength(1), PATIENCE);
    // What the answer or its absence means is written after the receiver has seen the request.
    await vi.waitFor(
      async () =>
        expect(await listEndpoints(home.dir)).toMatchObject([
          { name: 'first', waiting: 2, why: expect.stringContaining('127.0.0.1') as string },
          { name: 'second', waiting: 0 },
        ]),
      PATIENCE,
    );
    worker.process.kill('SIGKILL');
    await worker.ended;
    await expireLeases(home.dir);
    await dead.close();
    const revived = await startReceiver(undefined, port);
    await retryEndpoint(home.dir, 'first', new Date());
    runs.push(await addStoppedRun());
    const next = home.start(['worker'], { cwd: side });
    await vi.waitFor(() => expect(revived.received).toHaveLength(3), PATIENCE);
    expect(revived.received.map(runOf).sort()).toEqual([...runs].sort());
    expect(idOf(dead.received[0]!)).toBe(
      idOf(revived.received.find((each) => runOf(each) === runOf(dead.received[0]!))!),
    );
    await vi.waitFor(() => expect(steady.received.map(runOf).sort()).toEqual([...runs].sort()), PATIENCE);
    // A delivery is recorded after the receiver has answered.
    await vi.waitFor(async () => {
      const log = await new NotificationOutbox(home.dir).deliveries(20);
      expect(log.filter(({ result }) => result === 'delivered')).toHaveLength(6);
      const failed = log.filter(({ result }) => result === 'failed');
      expect(new Set(failed.map(({ endpoint: name }) => name))).toEqual(new Set(['first']));
    }, PATIENCE);
    next.process.kill('SIGTERM');
    await next.ended;
    await Promise.all([steady.close(), revived.close()]);
  });

  it('arrive at a chat without secrets of the machine', async () => {
    const chat = await startReceiver();
    configure(
      `[notify.chat]\ntype = "slack"\nurl_env = "CHAT_URL"\nevents = ["all"]\ndebounce = "1s"\nallow_private = true\n[secrets]\nenv = ["CANARY"]\n`,
    );
    const env = { CHAT_URL: `${chat.url}/services/T0/secret-path-of-the-chat`, CANARY: 'canary-8d1f6f2b9c' };
    const prd = prdOf([{ id: 'S-1' }]);
    writeFileSync(join(side, 'asks.json'), prd.bytes);
    const settings = scripted(
      `echo '{"status":"needs_human","summary":"Is canary-8d1f6f2b9c <!channel> right?"}'`,
    ).flatMap((setting) => ['-c', setting]);
    const run = await home.halo(['run', 'asks.json', '--repo', newRepository().root, ...settings], { cwd: side, env });
    expect(run.stdout + run.stderr).not.toContain('canary-8d1f6f2b9c');
    await vi.waitFor(() => expect(chat.received.length).toBeGreaterThan(0), PATIENCE);
    const text = chat.received.map(({ body }) => (JSON.parse(body) as { text: string }).text).join('\n');
    expect(text).toMatch(/S-1 needs a human\*\nIs \*+ &lt;!channel&gt; right\?/);
    expect(text).toContain('has ended with NEEDS_HUMAN');
    expect(text).not.toContain('canary');
    expect(JSON.stringify(await listEndpoints(home.dir))).not.toContain('secret-path');
    await chat.close();
  });

  it('wait for valid settings; a refused message delays no other, and an endpoint that is gone gets no more', async () => {
    const statuses = [400, 204, 410];
    const receiver = await startReceiver(
      (response, count) => void response.writeHead(statuses[count - 1] ?? 204).end(),
    );
    const log = pino({ level: 'silent' });
    const store = openStore(home.dir, { transcribe });
    const notifier = new Notifier({ home: home.dir, log, now: Date.now, env: {}, masker: openMasker() });
    const pass = async () => {
      await notifier.begin();
      await store.feedEvents((fed) => notifier.take(fed), new AbortController().signal);
      notifier.flush(true);
      await notifier.settle();
    };
    configure('[notify.x]\ntype = "pigeon"\n');
    await expect(pass()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    configure(`[notify.x]\ntype = "webhook"\nurl = "${receiver.url}"\nevents = ["all"]\nallow_private = true\n`);
    for (let count = 0; count < 2; count++) await addStoppedRun();
    await pass();
    expect(receiver.received).toHaveLength(2);
    expect(await listEndpoints(home.dir)).toMatchObject([{ waiting: 0, givenUp: 1 }]);
    for (let count = 0; count < 2; count++) await addStoppedRun();
    await pass();
    await pass();
    expect(receiver.received).toHaveLength(3);
    expect(await listEndpoints(home.dir)).toMatchObject([
      { waiting: 0, givenUp: 3, why: expect.stringContaining('answered 410') as string },
    ]);
    expect(await checkEndpoints(home.dir)).toMatchObject([
      {
        ok: 'warn',
        says: expect.stringMatching(/^x has not received 3 notifications: 127.0.0.1 answered 410/) as string,
      },
    ]);
    await retryEndpoint(home.dir, 'x', new Date());
    await pass();
    expect(receiver.received).toHaveLength(6);
    expect(await checkEndpoints(home.dir)).toMatchObject([{ ok: 'ok' }]);
    await notifier.close();
    await receiver.close();
  });

  it.each([
    ['type = "pigeon"', /notify.x.type: must be one of "webhook", "slack", "ntfy", "mail"/],
    ['type = "webhook"', /notify.x.url: must be given once: url, url_env, url_file or url_command/],
    ['type = "webhook"\nurl = "ftp://a.test"', /notify.x.url: must be a URL like "https:/],
    [
      'type = "webhook"\nurl = "https://a.test"\nevents = ["everything"]',
      /notify.x.events\[0\]: must be one of "needs-person"/,
    ],
    ['type = "webhook"\nurl = "https://a.test"\ndebounce = "5s"', /debounce: is not a key of webhooks/],
    ['type = "mail"\nurl = "smtp://a.test"', /is missing: mail needs from and to/],
    ['type = "slack"\nurl = "https://a.test"\nsecret_env = "X"', /secret_env: is not used by "slack"/],
    ['type = "webhook"\nurl = "https://a.test"\nevents = []', /events: must not be empty/],
    ['type = "ntfy"\nurl = "https://ntfy.sh"', /must be a URL like "https:\/\/ntfy.sh\/my-topic"/],
  ])('are not sent with the settings %j, which are refused with one sentence', async (settings, message) => {
    configure(`[notify.x]\n${settings}\n`);
    await expect(readEndpoints(home.dir)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(message) as string,
    });
  });
});

describe('the outbox of notifications', () => {
  const DAY_MS = 86_400_000;
  const silent = pino({ level: 'silent' });
  const notification = (id: string) => ({
    ...{ id, type: 'run.failed' as const, at: '2030-01-01T00:00:00.000Z', run: '0tbq4m8k2dhe7w1' },
    ...{ repository: 'shop', source: '/srv/shop', user: 'me', title: 'shop: failed', text: '' },
  });

  /** A home with these settings, and passes of its notifier at `clock.ms`. */
  function open(settings: string) {
    const dir = tempDir('halo-outbox');
    writeFileSync(join(dir, 'config.toml'), settings);
    const clock = { ms: Date.now() };
    const notifier = new Notifier({ home: dir, log: silent, now: () => clock.ms, env: {}, masker: openMasker() });
    const pass = async (hurry = false) => {
      await notifier.begin();
      notifier.flush(hurry);
      await notifier.settle();
    };
    return { dir, clock, pass, outbox: new NotificationOutbox(dir) };
  }

  it('is not read while nothing was added and nothing is due, and again when something is', async () => {
    const receiver = await startReceiver();
    const { dir, clock, pass, outbox } = open(
      `[notify.x]\ntype = "webhook"\nurl = "${receiver.url}"\nallow_private = true\n`,
    );
    const given = { failures: 3, addedAt: new Date(clock.ms).toISOString(), givenUp: true };
    await outbox.add('x', notification('0tbq4m8k2dhe7w1-1'), given.addedAt);
    for (let seq = 1; seq <= 20; seq += 1)
      await outbox.update('x', { notification: notification(`0tbq4m8k2dhe7w1-${seq}`), ...given });
    const folder = join(dir, 'notifications', 'x');
    // The change is long past, as it is on a machine that does nothing.
    const rest = () => utimesSync(folder, 1_000, 1_000);
    rest();
    await pass();
    // A file that is replaced in place changes nothing that the notifier looks at: it shows whether it was read.
    const file = join(folder, '0tbq4m8k2dhe7w1-1.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"givenUp":true', '"givenUp":false'));
    await pass();
    expect(receiver.received).toHaveLength(0);
    await outbox.add('x', notification('0tbq4m8k2dhe7w1-30'), given.addedAt);
    await vi.waitFor(async () => {
      await pass();
      expect(receiver.received).toHaveLength(2);
    }, PATIENCE);
    rest();
    await pass();
    clock.ms += 15 * DAY_MS;
    await pass();
    expect(await outbox.pending('x')).toEqual([]);
    await receiver.close();
  });

  it('shows what a removed endpoint has not received, and drops it after two weeks', async () => {
    const { dir, clock, pass, outbox } = open('');
    await outbox.add('old', notification('0tbq4m8k2dhe7w1-1'), new Date(clock.ms).toISOString());
    await pass();
    expect(await listEndpoints(dir)).toMatchObject([
      { name: 'old', type: 'removed', waiting: 1, why: expect.stringContaining('notifications/old') as string },
    ]);
    expect((await checkEndpoints(dir))[0]).toMatchObject({
      ok: 'warn',
      fix: expect.stringContaining('again') as string,
    });
    clock.ms += 15 * DAY_MS;
    writeFileSync(join(dir, 'config.toml'), '# changed\n');
    await pass();
    expect(await listEndpoints(dir)).toEqual([]);
  });
});
