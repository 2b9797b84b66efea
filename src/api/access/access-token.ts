import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** `halo_`, the id, and 256 random bits. */
const TOKEN = /^halo_([0-9a-z]{8})_[A-Za-z0-9_-]{40,64}$/;
const ID_ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const ID_LENGTH = 8;
const SECRET_BYTES = 32;

/** Makes a token of a user, and its id, which is no secret. */
export function makeAccessToken(): { token: string; id: string } {
  const id = [...randomBytes(ID_LENGTH)].map((byte) => ID_ALPHABET.charAt(byte % ID_ALPHABET.length)).join('');
  return { id, token: makeSecret(id) };
}

function makeSecret(id: string): string {
  return `halo_${id}_${randomBytes(SECRET_BYTES).toString('base64url')}`;
}

/** The id of a token of a user; undefined for other texts, such as the token of the server. */
export function idOfToken(token: string): string | undefined {
  return TOKEN.exec(token)?.[1];
}

/** Its 256 random bits cannot be guessed, so that a fast hash is enough. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Compares digests, so that the time it takes reveals neither content nor length. */
export function isSameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

/** The session of a browser has two secrets, both with its id. Only together are they worth anything. */
export interface SessionSecrets {
  id: string;
  /** In a cookie, which browsers also send to programs on other ports of the same host. */
  cookie: string;
  /** Kept by pages of exactly this scheme, host and port, which send it in a header. */
  pageKey: string;
}

export function makeSessionSecrets(): SessionSecrets {
  const { id, token: cookie } = makeAccessToken();
  return { id, cookie, pageKey: makeSecret(id) };
}

/** What is stored of the cookie of a session of the owner: with another token of the server, it fits no cookie. */
export function hashOwnerCookie(cookie: string, ownerToken: string): string {
  return createHmac('sha256', ownerToken).update(cookie).digest('hex');
}
