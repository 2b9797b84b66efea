import type { EndpointSettings } from '../config/endpoint-settings.ts';
import { isDue } from '../../../core/due.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { defined } from '../../../lib/guards.ts';
import { doubledDelay } from '../../../lib/async.ts';
import type { Connections } from '../../../lib/network/connections.ts';
import { mayReceiveCredential } from '../../../lib/network/credential-target.ts';
import type { Masker } from '../../../lib/secrets/masker.ts';
import { openNtfy, openSlack } from '../sinks/chat-messages.ts';
import { DeliveryError } from '../../../lib/network/post.ts';
import type { NotificationSink } from '../sinks/sink.ts';
import { openWebhook } from '../sinks/webhook.ts';
import type { Delivery, NotificationOutbox, PendingNotification } from '../store/notification-outbox.ts';
import type { SecretReader } from '../../../worker/network/secret-reader.ts';

export interface DeliveryContext extends SinkContext {
  outbox: NotificationOutbox;
  /** In ms since 1970. */
  now: () => number;
}

const SEND_MS = 30_000;
/** After a failure, doubled up to the maximum, with up to a fifth more, so that endpoints are not asked in step. */
const MIN_BACKOFF_MS = 5_000;
const MAX_BACKOFF_MS = 60 * 60_000;
/** Then halo gives a notification up: this old, and so long in waits, which a clock that jumps does not make longer. */
const MAX_AGE_MS = 24 * 60 * 60_000;
/** Notifications that were given up stay for `halo hooks retry`. */
const KEEP_MS = 14 * 24 * 60 * 60_000;
const MAX_WHY = 300;
/** Notifications in one message of a chat or mail. */
const MAX_COLLECTED = 10;

/**
 * Sends what an endpoint has not received: the notifications of a run in order, those of a chat or mail in one message once
 * `debounce` is over. After a failure, the endpoint is left alone for a while. With `hurry`, nothing is collected. Returns
 * until when nothing is to be done unless the outbox changes, in ms since 1970. Throws DISK_FAILED.
 */
export async function deliverTo(
  endpoint: EndpointSettings,
  context: DeliveryContext,
  { signal, hurry }: { signal: AbortSignal; hurry: boolean },
): Promise<number> {
  const { outbox, now } = context;
  const gone = await outbox.whyDisabled(endpoint.name);
  const { waiting: pending, oldestKept } = await removeOld(await outbox.pending(endpoint.name), endpoint.name, context);
  if (gone !== undefined) {
    for (const each of pending) await outbox.update(endpoint.name, { ...each, why: gone, givenUp: true });
    return oldestKept + KEEP_MS;
  }
  const blockedUntil = pending.map(({ notBefore, waitMs = MAX_AGE_MS }) => {
    const until = Date.parse(notBefore ?? '') || 0;
    return isDue(until, { now: now(), longestMs: waitMs }) ? 0 : until;
  });
  if (Math.max(...blockedUntil) > 0) return Math.max(...blockedUntil);
  let next = oldestKept + KEEP_MS;
  for (const ofRun of groupByRun(pending)) {
    const [first] = ofRun;
    const dueAt = Date.parse(first.addedAt) + endpoint.debounceMs;
    if (!hurry && !isDue(dueAt, { now: now(), longestMs: endpoint.debounceMs })) {
      next = Math.min(next, dueAt);
      continue;
    }
    for (const message of toMessages(ofRun, endpoint.debounceMs > 0 ? MAX_COLLECTED : 1))
      if (signal.aborted || !(await deliverMessage(endpoint, message, context, signal))) return now();
  }
  return next;
}

type Group = [PendingNotification, ...PendingNotification[]];

function toMessages([first, ...others]: Group, most: number): Group[] {
  if (most === 1) return [[first], ...others.map((each): Group => [each])];
  const rest = others.slice(most - 1);
  const [next, ...more] = rest;
  return [[first, ...others.slice(0, most - 1)], ...(next === undefined ? [] : toMessages([next, ...more], most))];
}

/** Returns whether the endpoint can be sent further messages now. */
async function deliverMessage(
  endpoint: EndpointSettings,
  message: Group,
  context: DeliveryContext,
  signal: AbortSignal,
): Promise<boolean> {
  const { outbox, now, masker } = context;
  const { name } = endpoint;
  const [first, ...others] = message;
  const notifications = [first.notification, ...others.map(({ notification }) => notification)] as const;
  const logged = (result: Delivery['result'], why?: string): Delivery => ({
    at: new Date(now()).toISOString(),
    endpoint: name,
    ids: notifications.map(({ id }) => id),
    type: first.notification.type,
    ...defined({ run: first.notification.run }),
    result,
    ...(why !== undefined && { why }),
  });
  try {
    const sink = await openSink(endpoint, context);
    await sink.send(notifications, AbortSignal.any([signal, AbortSignal.timeout(SEND_MS)]));
    for (const { id } of notifications) await outbox.remove(name, id);
    await outbox.record(logged('delivered'));
    return true;
  } catch (error) {
    // A worker that closes interrupts the request; another one sends it again.
    if (signal.aborted) return false;
    const why = masker.text(safeLine(error instanceof Error ? error.message : String(error)).slice(0, MAX_WHY));
    const { isGone = false, isRefused = false, retryAfterMs = 0 } = error instanceof DeliveryError ? error : {};
    const failures = first.failures + 1;
    const backoff = doubledDelay(failures - 1, MIN_BACKOFF_MS, MAX_BACKOFF_MS) * (1 + Math.random() / 5);
    const delay = Math.min(MAX_AGE_MS, Math.max(retryAfterMs, backoff));
    const waitedMs = (first.waitedMs ?? 0) + (first.waitMs ?? 0);
    const isOld = now() - Date.parse(first.addedAt) > MAX_AGE_MS && waitedMs >= MAX_AGE_MS;
    const isOver = isGone || isRefused || isOld;
    if (isGone) await outbox.disable(name, `${why}; \`halo hooks retry ${name}\` sends to it again`);
    const next = isOver
      ? { givenUp: true }
      : { notBefore: new Date(now() + delay).toISOString(), waitMs: delay, waitedMs };
    for (const { notification, addedAt } of message)
      await outbox.update(name, { notification, addedAt, failures, why, ...next });
    await outbox.record(logged(isOver ? 'given up' : 'failed', why));
    return isRefused;
  }
}

/** Removes what was given up long ago. `oldestKept`: when the oldest of the others was added, or Infinity. */
async function removeOld(
  all: readonly PendingNotification[],
  endpoint: string,
  { outbox, now }: DeliveryContext,
): Promise<{ waiting: PendingNotification[]; oldestKept: number }> {
  const waiting: PendingNotification[] = [];
  let oldestKept = Infinity;
  for (const each of all) {
    const addedAt = Date.parse(each.addedAt);
    if (each.givenUp !== true) waiting.push(each);
    else if (now() - addedAt > KEEP_MS) await outbox.remove(endpoint, each.notification.id);
    else oldestKept = Math.min(oldestKept, addedAt);
  }
  return { waiting, oldestKept };
}

/** Drops what an endpoint that is no longer configured did not receive for long. Returns how many notifications. */
export async function dropAbandoned(
  endpoint: string,
  { outbox, now }: Pick<DeliveryContext, 'outbox' | 'now'>,
): Promise<number> {
  const old = (await outbox.pending(endpoint)).filter(({ addedAt }) => now() - Date.parse(addedAt) > KEEP_MS);
  for (const { notification } of old) await outbox.remove(endpoint, notification.id);
  return old.length;
}

/** In the order in which the first notification of each run was added. */
function groupByRun(pending: readonly PendingNotification[]): Group[] {
  const groups = new Map<string, Group>();
  for (const each of pending) {
    const { run, id } = each.notification;
    const group = groups.get(run ?? id);
    if (group === undefined) groups.set(run ?? id, [each]);
    else group.push(each);
  }
  return [...groups.values()].sort(([a], [b]) => (a.addedAt < b.addedAt ? -1 : 1));
}

interface SinkContext {
  read: SecretReader;
  masker: Masker;
  connections: Connections;
}

const SCHEMES = { webhook: /^https?:/, slack: /^https?:/, ntfy: /^https?:/, mail: /^smtps?:/ };

/** Opens an endpoint with the secrets of this machine. Throws CONFIG_INVALID, and DeliveryError for a secret of a wrong form. */
export async function openSink(
  endpoint: EndpointSettings,
  { read, masker, connections }: SinkContext,
): Promise<NotificationSink> {
  const { name, type, url: place, secret: source, allowPrivate, mail } = endpoint;
  const table = `[notify.${name}]`;
  const readUrl = () =>
    read(place, { code: 'CONFIG_INVALID', what: 'URL', table, keys: ['url_env', 'url_file', 'url_command'] });
  const url = place.text ?? (await readUrl());
  if (!URL.canParse(url) || !SCHEMES[type].test(url)) throw new DeliveryError(`the URL of ${table} is not valid`);
  const hasSecret = source.env !== undefined || source.file !== undefined || source.command !== undefined;
  const secret = hasSecret
    ? await read(source, {
        code: 'CONFIG_INVALID',
        what: 'secret',
        table,
        keys: ['secret_env', 'secret_file', 'secret_command'],
      })
    : undefined;
  const isSecret = place.text === undefined || type === 'slack' || (type === 'ntfy' && hasSecret);
  if (isSecret && type !== 'mail' && !mayReceiveCredential(url, url))
    throw new DeliveryError(`${table} would be sent a secret without encryption; set an https URL`);
  masker.learn([secret ?? '', ...(place.text === undefined ? [url] : [])]);
  const how = { connections, allowPrivate };
  switch (type) {
    case 'webhook':
      return openWebhook({ url, secret, ...how });
    case 'slack':
      return openSlack({ url, ...how });
    case 'ntfy':
      return openNtfy({ url, token: secret, ...how });
    case 'mail': {
      const { user, from = '', to = [] } = mail ?? {};
      // Most machines send no mail.
      const { openMail } = await import('../sinks/mail.ts');
      return openMail({ url, user, password: secret, from, to, ...how });
    }
  }
}
