import { createHmac } from 'node:crypto';
import type { Notification } from '../core/notification.ts';
import { DeliveryError, post, type PostOptions } from '../../../lib/network/post.ts';
import type { NotificationSink } from './sink.ts';

interface WebhookOptions extends PostOptions {
  url: string;
  /** `whsec_` and the key in base64; undefined: messages are not signed. */
  secret: string | undefined;
}

/** The secret of a webhook: 24 to 64 bytes in base64, as the specification asks. */
const WEBHOOK_SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;

/** Webhooks with the headers and signatures of https://www.standardwebhooks.com (1.0). One message for each notification. */
export function openWebhook({ url, secret, ...options }: WebhookOptions): NotificationSink {
  if (secret !== undefined && !WEBHOOK_SECRET.test(secret))
    throw new DeliveryError('the secret is not of the form whsec_<24 to 64 bytes in base64>');
  return {
    async send([notification], signal) {
      const body = JSON.stringify(toPayload(notification));
      const id = `msg_${notification.id}`;
      const timestamp = String(Math.floor(Date.now() / 1000));
      const signature = secret === undefined ? {} : { 'webhook-signature': sign(secret, `${id}.${timestamp}.${body}`) };
      await post(options, {
        url,
        body,
        signal,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'halo',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          ...signature,
        },
      });
    },
  };
}

/** The body of a webhook: `type` and `timestamp` as in the specification, and the facts in `data`. */
function toPayload(notification: Notification): object {
  const { type, at, run, repository, source, user, engine, story, stopReason, title, text, command } = notification;
  const data = { run, repository, source, user, engine, story, stopReason, title, text, command };
  return { type, timestamp: at, data };
}

function sign(secret: string, content: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
}
