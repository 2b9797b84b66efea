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
