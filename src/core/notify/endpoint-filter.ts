import { mayUseRepository } from '../access/access.ts';
import { NOTIFICATION_GROUPS, type Notification, type NotificationType } from './notification.ts';

/** Which notifications an endpoint wants. */
interface EndpointFilter {
  /** Types and names of groups. */
  events: readonly string[];
  /** Paths and addresses of repositories; `*` stands for any text. Absent: all. */
  repositories?: readonly string[] | undefined;
  /** The users whose runs count. Absent: all. */
  users?: readonly string[] | undefined;
}

/** Whether an endpoint wants a notification. */
export function wantsNotification(
  { events, repositories, users }: EndpointFilter,
  notification: Notification,
): boolean {
  const types = events.flatMap((name): readonly string[] =>
    Object.hasOwn(NOTIFICATION_GROUPS, name) ? NOTIFICATION_GROUPS[name as keyof typeof NOTIFICATION_GROUPS] : [name],
  );
  const { type, source, user }: { type: NotificationType } & Pick<Notification, 'source' | 'user'> = notification;
  return types.includes(type) && mayUseRepository({ repositories }, source) && (users?.includes(user) ?? true);
}
