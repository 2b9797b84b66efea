import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { NOTIFICATION_GROUPS, NOTIFICATION_TYPES } from '../core/notification.ts';
import { HOST_FILE } from '../../../config/trust/key-trust.ts';
import { key } from '../../../config/schema/key-metadata.ts';
import { Duration, oneOf, Text, VariableName } from '../../../config/schema/values.ts';

const GROUPS = Object.keys(NOTIFICATION_GROUPS) as [keyof typeof NOTIFICATION_GROUPS];
const EVENTS = [...GROUPS, ...NOTIFICATION_TYPES] as const;
const SCHEMES = {
  webhook: /^https?:/,
  slack: /^https?:/,
  ntfy: /^https?:\/\/[^/]+\/[\w-]{1,64}\/?$/,
  mail: /^smtps?:/,
};
const EXAMPLES = {
  webhook: 'https://ci.example.com/hooks/halo',
  slack: 'https://hooks.slack.com/services/…',
  ntfy: 'https://ntfy.sh/my-topic',
  mail: 'smtp://mail.example.com:587',
};
const Address = Text.regex(/^[^\s<>,;]+@[^\s<>,;]+$/, 'must be a mail address, like "team@example.com"');
const list = (example: string) => z.array(Text, { error: `must be a list like ${example}` });

const Endpoint = z
  .strictObject({
    type: oneOf('webhook', 'slack', 'ntfy', 'mail'),
    url: Text.refine(
      (text) => URL.canParse(text) && new URL(text).username === '',
      'must be a URL without a user',
    ).optional(),
    url_env: VariableName.optional(),
    url_file: Text.refine(isAbsolute, 'must be an absolute path').optional(),
    url_command: Text.optional(),
    secret_env: VariableName.optional(),
    secret_file: Text.refine(isAbsolute, 'must be an absolute path').optional(),
    secret_command: Text.optional(),
    events: z.array(oneOf(...EVENTS), { error: 'must be a list like ["needs-person", "failed"]' }).optional(),
    repos: list('["/srv/repos/*"]').optional(),
    users: list('["ada"]').optional(),
    debounce: Duration.optional(),
    allow_private: z.boolean({ error: 'must be true or false' }).optional(),
    user: Text.optional(),
    from: Address.optional(),
    to: z.array(Address, { error: 'must be a list like ["team@example.com"]' }).min(1, 'must not be empty').optional(),
  })
  .superRefine((endpoint, context) => {
    const { type, url, from, to, user, debounce } = endpoint;
    const fail = (message: string, name: string) => context.addIssue({ code: 'custom', message, path: [name] });
    const sources = [url, endpoint.url_env, endpoint.url_file, endpoint.url_command];
    if (sources.filter((source) => source !== undefined).length !== 1)
      fail('must be given once: url, url_env, url_file or url_command', 'url');
    if (url !== undefined && !SCHEMES[type].test(url)) fail(`must be a URL like "${EXAMPLES[type]}"`, 'url');
    const secrets = [endpoint.secret_env, endpoint.secret_file, endpoint.secret_command];
    if (secrets.filter((source) => source !== undefined).length > 1)
      fail('must be given once: secret_env, secret_file or secret_command', 'secret_env');
    if (type === 'mail' && (from === undefined || to === undefined)) fail('is missing: mail needs from and to', 'to');
    if (type !== 'mail' && (from ?? to ?? user) !== undefined) fail('is a key of endpoints of the type "mail"', 'to');
    const hasSecret = secrets.some((source) => source !== undefined);
    if (type === 'slack' && hasSecret) fail('is not used by "slack": its URL is the secret', 'secret_env');
    if (type === 'mail' && hasSecret !== (user !== undefined))
      fail('belongs to a password, and a password to a user', 'user');
    if (endpoint.events?.length === 0) fail('must not be empty', 'events');
    if (type === 'webhook' && debounce !== undefined)
      fail('is not a key of webhooks, which get each event', 'debounce');
  });

/** `[notify.<name>]`: endpoints that receive notifications. */
export const NotifyTable = key(
  z.record(
    z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'is not a name of small letters, digits and hyphens'),
    Endpoint,
    { error: 'must be a table like [notify.team] with type and url' },
  ),
  [
    'table of tables',
    {},
    '[Notifications](notifications.md): an endpoint each, `[notify.team]` with `type`, `url` and other keys.',
  ],
  HOST_FILE,
);
