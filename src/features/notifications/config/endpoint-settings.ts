import type { Settings } from '../../../config/config.ts';
import { readHostFile } from '../../../config/host-rules.ts';

/** An endpoint that receives notifications. */
export interface EndpointSettings {
  name: string;
  type: 'webhook' | 'slack' | 'ntfy' | 'mail';
  /** One of the four is set; a URL can be a secret. */
  url: { text: string | undefined; env: string | undefined; file: string | undefined; command: string | undefined };
  /** The signing key of a webhook, the token of ntfy, or the password of mail; all may be undefined. */
  secret: { env: string | undefined; file: string | undefined; command: string | undefined };
  /** Types of notifications, and names of groups. */
  events: readonly string[];
  repositories?: readonly string[] | undefined;
  users?: readonly string[] | undefined;
  /** How long notifications of a run are collected into one message, in ms. */
  debounceMs: number;
  /** Addresses that are not public are allowed. */
  allowPrivate: boolean;
  mail?: { user: string | undefined; from: string; to: readonly string[] } | undefined;
}

/** What endpoints receive by default. */
const DEFAULT_EVENTS = ['needs-person', 'failed', 'done'];
const DEFAULT_DEBOUNCE_MS = 10_000;

/** The endpoints of `[notify]` in config.toml of a HALO_HOME, sorted by name. Throws CONFIG_INVALID. */
export async function readEndpoints(home: string): Promise<readonly EndpointSettings[]> {
  return toEndpoints((await readHostFile(home)).notify);
}

function toEndpoints(notify: Settings['notify']): EndpointSettings[] {
  return Object.entries(notify)
    .map(([name, each]): EndpointSettings => ({
      name,
      type: each.type,
      url: { text: each.url, env: each.urlEnv, file: each.urlFile, command: each.urlCommand },
      secret: { env: each.secretEnv, file: each.secretFile, command: each.secretCommand },
      events: each.events ?? DEFAULT_EVENTS,
      repositories: each.repos,
      users: each.users,
      debounceMs: each.type === 'webhook' ? 0 : (each.debounceMs ?? DEFAULT_DEBOUNCE_MS),
      allowPrivate: each.allowPrivate ?? false,
      mail:
        each.from === undefined || each.to === undefined
          ? undefined
          : { user: each.user, from: each.from, to: each.to },
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
