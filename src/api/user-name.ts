import { userInfo } from 'node:os';

/** What the name of a user looks like. */
export const USER_NAME = /^[\w.@+-]{1,64}$/;

/** Who a submit over HTTP is by when it does not say. */
export const REMOTE_USER = 'api';

/** The user of this process, by name or, where the system knows none, by number. */
export function userName(): string {
  try {
    const { username } = userInfo();
    if (USER_NAME.test(username)) return username;
  } catch {
    // A user id without an entry in the system's list, as containers often have.
  }
  return `uid-${process.getuid?.() ?? 0}`;
}
