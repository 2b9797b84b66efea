/**
 * User name and password as they stand in an address, up to the last `@` before its path; also where the password holds
 * what it may not, such as `/`: then what follows the first colon is no port.
 */
const CREDENTIALS = /:\/\/(?:[^\s/?#]*@|[^\s/?#:@[]*:(?!\d{0,5}(?:[\s/?#]|$))\S{0,300}@)/g;

/** A text without the user names and passwords of the addresses in it. Linear in the text. */
export function withoutCredentialsIn(text: string): string {
  return text.includes('@') ? text.replace(CREDENTIALS, '://') : text;
}

/** What is secret in the addresses of a text: passwords, and user names without one, as written and decoded. */
export function credentialsIn(text: string): string[] {
  const found = [...text.matchAll(CREDENTIALS)].map(([match]) => match.slice(3, -1));
  return found.flatMap((login) => {
    const secret = login.includes(':') ? login.slice(login.indexOf(':') + 1) : login;
    return [...new Set([secret, decodePart(secret)])];
  });
}

/** A part of an address without percent-encoding; as it is when that is broken. */
export function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
