import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { SMTPServer } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, test } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import {
  NOTIFICATION_TYPES,
  toEngineNotification,
  toNotification,
  type Notification,
} from '../../../src/features/notifications/core/notification.ts';
import { openConnections } from '../../../src/lib/network/connections.ts';
import { openNtfy, openSlack } from '../../../src/features/notifications/sinks/chat-messages.ts';
import { openMail } from '../../../src/features/notifications/sinks/mail.ts';
import { DeliveryError } from '../../../src/lib/network/post.ts';
import type { NotificationSink } from '../../../src/features/notifications/sinks/sink.ts';
import { openWebhook } from '../../../src/features/notifications/sinks/webhook.ts';
import { asked, COMMIT, created, failed, held, journalOf, passed, stateOf } from '../../support/journal.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { startReceiver, type Receiver } from '../../support/network/receiver.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const connections = openConnections();
const how = { connections, allowPrivate: true };
const open: Receiver[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

const receive = async (...args: Parameters<typeof startReceiver>) => {
  const receiver = await startReceiver(...args);
  open.push(receiver);
  return receiver;
};

const question: Notification = {
  id: '0tbq4m8k2dhe7w1-12',
  type: 'story.question',
  at: '2030-01-01T03:12:00.000Z',
  run: '0tbq4m8k2dhe7w1',
  repository: 'shop',
  source: '/srv/repos/shop',
  user: 'ada',
  story: { id: 'US-003', title: 'Prices' },
  title: 'shop: US-003 needs a human',
  text: '<!channel> @here & <https://evil.example|click>',
  command: 'halo answer 0tbq4m8k --story US-003 "…"',
};
const landed: Notification = {
  ...question,
  id: '0tbq4m8k2dhe7w1-15',
  type: 'story.passed',
  title: 'shop: US-004 has landed',
  text: '',
};

const send = (sink: NotificationSink, ...more: Notification[]) =>
  sink.send([question, ...more], AbortSignal.timeout(10_000));
const failureOf = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DeliveryError);
  return error as DeliveryError;
};

/** A notification of each type, from the events of runs. */
function everyNotification(): Notification[] {
  const ref = { story: 'US-001', attempt: 1 };
  const end = (stopReason: 'SUCCESS' | 'GATE_FAILED' | 'USER_ABORT'): JournalEntry => ({
    ...{ type: 'run.ended', stopReason, detail: 'why' },
  });
  const landing = { type: 'run.landed', branch: 'main', from: COMMIT, to: COMMIT } as const;
  const histories: JournalEntry[][] = [
    [created(), { type: 'run.started' }, ...passed('US-001'), end('SUCCESS'), landing],
    [{ ...created(), needsApproval: true }, ...passed('US-001'), end('SUCCESS')],
    [created(), ...asked('US-001')],
    [created(), ...held('US-001')],
    [created(), ...failed('US-001', 1, 'halt'), end('GATE_FAILED')],
    [created(), end('USER_ABORT')],
    [
      { ...created(), user: 'ada' },
      { type: 'breaker.opened', reason: 'three equal failures' },
      { type: 'budget.warned', ...ref, scope: 'run', unit: 'usd', limit: 5e6, spent: 4.05e6 },
    ],
  ];
  const ofRuns = histories.flatMap((entries) =>
    journalOf(entries).flatMap((event) => toNotification(event, stateOf(...entries)) ?? []),
  );
  return [...ofRuns, toEngineNotification({ engine: 'build-2', since: question.at, why: 'no worker' })];
}

test('incident notification: the body of a webhook of each type is valid by its schema', async () => {
  const { received, url } = await receive();
  const sink = openWebhook({ url, secret: SECRET, ...how });
  for (const each of everyNotification()) await sink.send([each], AbortSignal.timeout(10_000));
  const bodies = received.map(({ body }) => JSON.parse(body) as { type: string });
  expect(new Set(bodies.map(({ type }) => type))).toEqual(new Set(NOTIFICATION_TYPES));
  const file = new URL('../../../schemas/webhook.schema.json', import.meta.url);
  const isValid = new Ajv2020().compile(JSON.parse(readFileSync(file, 'utf8')) as object);
  for (const body of bodies)
    expect({ body, valid: isValid(body), errors: isValid.errors }).toMatchObject({ valid: true });
  expect(isValid({ ...bodies[0], type: 'run.exploded' })).toBe(false);
});

describe('incident notification: a webhook', () => {
  test('is verified by a library of receivers, and fails with another key', async () => {
    const receiver = await receive();
    await send(openWebhook({ url: `${receiver.url}/hook`, secret: SECRET, ...how }));
    const [{ path, headers, body } = { path: '', headers: {}, body: '' }] = receiver.received;
    expect(path).toBe('/hook');
    expect(headers['webhook-id']).toBe('msg_0tbq4m8k2dhe7w1-12');
    const verified = new Webhook(SECRET).verify(body, headers as Record<string, string>);
    expect(verified).toEqual({
      type: 'story.question',
      timestamp: question.at,
      data: {
        run: question.run,
        repository: 'shop',
        source: '/srv/repos/shop',
        user: 'ada',
        story: { id: 'US-003', title: 'Prices' },
        title: question.title,
        text: question.text,
        command: question.command,
      },
    });
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
    expect(() => new Webhook(other).verify(body, headers as Record<string, string>)).toThrow('No matching signature');
  });

  test('needs a secret of the specified form', () => {
    expect(() => openWebhook({ url: 'https://example.com', secret: 'password', ...how })).toThrow(/whsec_/);
  });

  test.each<[string, number, Record<string, string>, Partial<DeliveryError>]>([
    ['an error', 500, {}, { message: '127.0.0.1 answered 500: no', isGone: false }],
    ['the wish for a pause', 429, { 'retry-after': '120' }, { retryAfterMs: 120_000 }],
    ['the end of the endpoint', 410, {}, { isGone: true }],
    ['a message that it will not accept', 422, {}, { isRefused: true }],
    [
      'a redirect, which is not followed',
      302,
      { location: 'http://127.0.0.1:1/' },
      { message: '127.0.0.1 answered 302: no' },
    ],
  ])('reports %s', async (_what, status, headers, expected) => {
    const receiver = await receive((response) => void response.writeHead(status, headers).end('no'));
    expect(await failureOf(send(openWebhook({ url: receiver.url, secret: undefined, ...how })))).toMatchObject(
      expected,
    );
  });

  test.each([
    'http://127.0.0.1:9/',
    'http://localhost:9/',
    'http://[::1]:9/',
    'http://10.0.0.1/',
    'http://169.254.169.254/',
  ])('never reaches %s, which is not public', async (url) => {
    const sink = openWebhook({ url, secret: undefined, connections, allowPrivate: false });
    expect((await failureOf(send(sink))).message).toMatch(/is not a public address/);
  });
});

describe('incident notification: a message', () => {
  test('mentions no person in Slack, and links nothing that an agent wrote', async () => {
    const receiver = await receive();
    await send(openSlack({ url: receiver.url, ...how }), landed);
    expect((JSON.parse(receiver.received[0]!.body) as { text: string }).text).toBe(
      [
        '*shop: US-003 needs a human*',
        '&lt;!channel&gt; @\u200bhere &amp; &lt;https://evil.example|click&gt;',
        '`halo answer 0tbq4m8k --story US-003 "…"`',
        '*shop: US-004 has landed*',
        '`halo answer 0tbq4m8k --story US-003 "…"`',
      ].join('\n'),
    );
  });

  test('has no markup of a story id in chats with the format of Slack', async () => {
    const receiver = await receive();
    const id = 'x` @channel [click](https://evil.example) `';
    const sent = { ...question, title: `shop: ${id}`, text: '', command: `halo diff 0tbq --story '${id}'` };
    await openSlack({ url: receiver.url, ...how }).send([sent], AbortSignal.timeout(10_000));
    expect((JSON.parse(receiver.received[0]!.body) as { text: string }).text).toBe(
      '*shop: x` @\u200bchannel [click]\u200b(https://evil.example) `*',
    );
  });

  test('has topic, priority and token for ntfy', async () => {
    const receiver = await receive();
    await send(openNtfy({ url: `${receiver.url}/my-topic`, token: 'tk_1', ...how }));
    const [{ path, headers, body } = { path: '', headers: {}, body: '' }] = receiver.received;
    expect({ path, authorization: headers.authorization }).toEqual({ path: '/', authorization: 'Bearer tk_1' });
    expect(JSON.parse(body)).toMatchObject({
      topic: 'my-topic',
      title: question.title,
      priority: 4,
      tags: ['question'],
    });
  });

  test('has no header of its text in a mail, and keeps its id', async () => {
    const mails: string[] = [];
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onData: (stream, _session, done) => {
        let text = '';
        stream.setEncoding('utf8').on('data', (part: string) => (text += part));
        stream.on('end', () => (mails.push(text), done()));
      },
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.server.address() as AddressInfo;
    const to = { from: 'halo@example.com', to: ['team@example.com'], allowPrivate: true, connections };
    try {
      const url = `smtp://127.0.0.1:${port}`;
      await send(openMail({ url, user: undefined, password: undefined, ...to }), {
        ...landed,
        title: 'shop: x\r\nBcc: eve@example.com',
      });
      const [head = '', body = ''] = mails[0]!.split(/\r\n\r\n(.*)/s);
      expect(head).not.toMatch(/^Bcc:/m);
      expect(head).toMatch(/^Message-ID: <0tbq4m8k2dhe7w1-15@halo.invalid>/m);
      expect(body).toContain('halo answer 0tbq4m8k');
      // A password is never sent without TLS.
      expect((await failureOf(send(openMail({ url, user: 'halo', password: 'secret', ...to })))).message).toMatch(
        /TLS/,
      );
      expect(
        (await failureOf(send(openMail({ url, user: undefined, password: undefined, ...to, allowPrivate: false }))))
          .message,
      ).toMatch(/is not a public address/);
    } finally {
      server.close();
    }
  });

  test.each([
    ['STARTTLS', 'smtp', false],
    ['implicit TLS', 'smtps', true],
  ])(
    'is sent over %s to a server whose certificate authority is configured, and to no other',
    async (_how, scheme, secure) => {
      const { ca, cert, key } = makeCertificates();
      const mails: string[] = [];
      const users: (string | undefined)[] = [];
      const server = new SMTPServer({
        ...{ secure, cert, key },
        onAuth: ({ username, password }, session, done) => {
          users.push(session.secure && password === 'secret' ? username : undefined);
          done(null, { user: username });
        },
        onData: (stream, _session, done) => {
          let text = '';
          stream.setEncoding('utf8').on('data', (part: string) => (text += part));
          stream.on('end', () => (mails.push(text), done()));
        },
      });
      server.on('error', () => undefined);
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port } = server.server.address() as AddressInfo;
      const mail = { user: 'halo', password: 'secret', from: 'halo@example.com', to: ['team@example.com'] };
      const trusting = openConnections({ certificateAuthorities: ca });
      try {
        const at = (host: string) => ({ url: `${scheme}://${host}:${port}`, ...mail, allowPrivate: true });
        await send(openMail({ ...at('localhost'), connections: trusting }));
        expect([mails.length, users]).toEqual([1, ['halo']]);
        const unknown = await failureOf(send(openMail({ ...at('localhost'), connections })));
        expect(unknown.message).toMatch(/certificate/);
        // The certificate names another host.
        const other = await failureOf(send(openMail({ ...at('127.0.0.1'), connections: trusting })));
        expect(other.message).toMatch(/altnames|certificate/i);
        expect([mails.length, users]).toEqual([1, ['halo']]);
      } finally {
        trusting.close();
        server.close();
      }
    },
  );
});

/** A certificate authority, and a certificate of localhost that it has signed. */
function makeCertificates(): { ca: string; cert: string; key: string } {
  const dir = tempDir('halo-mail-tls');
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'ignore' });
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...curve, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=ca of the test');
  openssl('req', ...curve, '-keyout', 'key.pem', '-out', 'request.pem', '-subj', '/CN=localhost');
  writeFileSync(join(dir, 'names'), 'subjectAltName=DNS:localhost\n');
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names'];
  openssl('x509', '-req', '-in', 'request.pem', '-out', 'cert.pem', ...signed);
  const [ca = '', cert = '', key = ''] = ['ca.pem', 'cert.pem', 'key.pem'].map((file) =>
    readFileSync(join(dir, file), 'utf8'),
  );
  return { ca, cert, key };
}
