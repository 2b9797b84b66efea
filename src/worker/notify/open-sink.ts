import type { EndpointSettings } from '../../config/endpoint-settings.ts';
import type { Connections } from '../../lib/network/connections.ts';
import { mayReceiveCredential } from '../../lib/network/credential-target.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import { openNtfy, openSlack } from '../../notify/chat-messages.ts';
import { DeliveryError, type NotificationSink } from '../../notify/sink.ts';
import { openWebhook } from '../../notify/webhook.ts';
import type { SecretReader } from '../network/secret-reader.ts';

export interface SinkContext {
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
      const { openMail } = await import('../../notify/mail.ts');
      return openMail({ url, user, password: secret, from, to, ...how });
    }
  }
}
