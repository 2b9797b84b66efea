import type { Notification } from '../core/notification.ts';

/** Sends notifications to one endpoint. */
export interface NotificationSink {
  /**
   * Sends one message about one or more notifications of a run, the oldest first. Throws DeliveryError.
   */
  send(notifications: readonly [Notification, ...Notification[]], signal: AbortSignal): Promise<void>;
}
