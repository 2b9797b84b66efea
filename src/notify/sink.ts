import type { Notification } from '../core/notify/notification.ts';

/** Sends notifications to one endpoint. */
export interface NotificationSink {
  /**
   * Sends one message about one or more notifications of a run, the oldest first. Throws DeliveryError.
   */
  send(notifications: readonly [Notification, ...Notification[]], signal: AbortSignal): Promise<void>;
}

/** Why a message was not delivered. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError';
  /** When the endpoint wants to be asked again, in ms. */
  readonly retryAfterMs: number | undefined;
  /** The endpoint wants no more messages. */
  readonly isGone: boolean;

  /** The endpoint refuses this message, and would refuse it again. */
  readonly isRefused: boolean;

  constructor(message: string, { retryAfterMs, isGone = false, isRefused = false, cause }: DeliveryErrorOptions = {}) {
    super(message, { cause });
    this.isRefused = isRefused;
    this.retryAfterMs = retryAfterMs;
    this.isGone = isGone;
  }
}

interface DeliveryErrorOptions {
  retryAfterMs?: number | undefined;
  isGone?: boolean;
  isRefused?: boolean;
  cause?: unknown;
}
