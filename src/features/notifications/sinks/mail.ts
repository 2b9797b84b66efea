import { createTransport } from 'nodemailer';
import { isIP } from 'node:net';
import type { Connections } from '../../../lib/network/connections.ts';
import type { Notification } from '../core/notification.ts';
import { allowedAddresses, DeliveryError, messageOf } from '../../../lib/network/post.ts';
import type { NotificationSink } from './sink.ts';

interface MailOptions {
  /** `smtp://host:587` (STARTTLS) or `smtps://host:465`. */
  url: string;
  user: string | undefined;
  password: string | undefined;
  from: string;
  to: readonly string[];
  allowPrivate: boolean;
  /** The certificate authorities of this machine. */
  connections: Pick<Connections, 'trust'>;
}

const TIMEOUT_MS = 30_000;

/** Mail over SMTP, as plain text. With a password, only over TLS. */
export function openMail({ url, user, password, from, to, allowPrivate, connections }: MailOptions): NotificationSink {
  const { protocol, hostname, port } = new URL(url);
  const secure = protocol === 'smtps:';
  return {
    async send(notifications, signal) {
      const [first] = notifications;
      const last = notifications.at(-1) ?? first;
      try {
        // Connections go to an address that was checked; the certificate must name the host.
        const [address = hostname] = await allowedAddresses(hostname, allowPrivate);
        signal.throwIfAborted();
        const transport = createTransport({
          host: address,
          tls: {
            ...(isIP(hostname) === 0 && { servername: hostname }),
            ...(connections.trust && { secureContext: connections.trust }),
          },
          port: Number(port || (secure ? 465 : 587)),
          secure,
          requireTLS: !secure && password !== undefined,
          connectionTimeout: TIMEOUT_MS,
          greetingTimeout: TIMEOUT_MS,
          socketTimeout: TIMEOUT_MS,
          disableFileAccess: true,
          disableUrlAccess: true,
          ...(user !== undefined && password !== undefined && { auth: { user, pass: password } }),
        });
        signal.addEventListener('abort', () => transport.close(), { once: true });
        const { rejected } = await transport.sendMail({
          from,
          to: [...to],
          subject: last.title,
          text: notifications.map(mailText).join('\n\n'),
          // The same message has the same id, so that mail programs show a repeated one once; runs are threads.
          messageId: `<${last.id}@halo.invalid>`,
          ...(first.run !== undefined && { references: `<${first.run}@halo.invalid>` }),
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
        transport.close();
        const refused = rejected.join(', ');
        if (refused !== '') throw new DeliveryError(`${hostname} refused ${refused}`, { isRefused: true });
      } catch (error) {
        if (error instanceof DeliveryError) throw error;
        throw new DeliveryError(`${hostname}: ${messageOf(error)}`, { cause: error });
      }
    },
  };
}

function mailText({ title, text, command, run, user }: Notification): string {
  const facts = run === undefined ? [] : ['', `Run ${run}${user === undefined ? '' : `, submitted by ${user}`}`];
  return [
    title,
    ...(text === '' ? [] : ['', text]),
    ...(command === undefined ? [] : ['', `    ${command}`]),
    ...facts,
  ].join('\n');
}
