import { hostname, userInfo } from 'node:os';

/** The format of user names. */
export const USER_NAME = /^[\w.@+-]{1,64}$/;

/** Who has the token of the server: in journals, and as the user of submits that name none. */
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
