/**
 * User name and password of a URL, up to the last `@` before its path. Also matches passwords with invalid characters such
 * as `/`, if the text after the first colon is not a port.
 */
const CREDENTIALS = /:\/\/(?:[^\s/?#]*@|[^\s/?#:@[]*:(?!\d{0,5}(?:[\s/?#]|$))\S{0,300}@)/g;

/** Removes user names and passwords from the URLs in a text, in linear time. */
export function stripCredentials(text: string): string {
  return text.includes('@') ? text.replace(CREDENTIALS, '://') : text;
}

/** Finds the secrets in the URLs of a text: passwords, or user names without one, as written and decoded. */
export function findCredentials(text: string): string[] {
  const found = [...text.matchAll(CREDENTIALS)].map(([match]) => match.slice(3, -1));
  return found.flatMap((login) => {
    const secret = login.includes(':') ? login.slice(login.indexOf(':') + 1) : login;
    return [...new Set([secret, tryDecodeComponent(secret)])];
  });
}

/** Decodes percent-encoding; returns the text unchanged if it is malformed. */
export function tryDecodeComponent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
