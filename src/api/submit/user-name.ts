import { hostname, userInfo } from 'node:os';

/** The format of user names. */
export const USER_NAME = /^[\w.@+-]{1,64}$/;

/** The user of a submit over HTTP that names none. */
export const REMOTE_USER = 'api';

/** The name in journals of a user who has the token of the server. */
export const TOKEN_HOLDER = 'api-token';

/** The user of this process: the name or, if the system knows none, the number. */
export function userName(): string {
  try {
    const { username } = userInfo();
    if (USER_NAME.test(username)) return username;
  } catch {
    // In containers, the user id often has no entry in the user database.
  }
  return `uid-${process.getuid?.() ?? 0}`;
}

/** The user of this process as recorded in journals: `user@host`. */
export function whoAmI(): string {
  return `${userName()}@${hostname()}`;
}
