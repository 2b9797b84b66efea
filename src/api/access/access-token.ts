import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** `halo_`, the id, and 256 random bits. */
const TOKEN = /^halo_([0-9a-z]{8})_[A-Za-z0-9_-]{40,64}$/;
const ID_ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const ID_LENGTH = 8;
const SECRET_BYTES = 32;

/** Makes a token of a user, and its id, which is no secret. */
export function makeAccessToken(): { token: string; id: string } {
  const id = [...randomBytes(ID_LENGTH)].map((byte) => ID_ALPHABET.charAt(byte % ID_ALPHABET.length)).join('');
  return { id, token: `halo_${id}_${randomBytes(SECRET_BYTES).toString('base64url')}` };
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

/** `halo_owner_`, the time at which it expires, in ms, and a signature. */
const OWNER_SESSION = /^halo_owner_(\d{13,15})_([\w-]{43})$/;

/**
 * Makes the session of a browser that signed in with the token of the server. It is not stored: it is signed with that
 * token, so that another token of the server ends it.
 */
export function makeOwnerSession(ownerToken: string, expiresAt: Date): string {
  const until = String(expiresAt.getTime());
  return `halo_owner_${until}_${signOwnerSession(ownerToken, until)}`;
}

/** Whether a token is a session of `makeOwnerSession` that is valid at `now`. */
export function isOwnerSession(token: string, ownerToken: string, now: Date): boolean {
  const [, until = '', signature = ''] = OWNER_SESSION.exec(token) ?? [];
  return isSameSecret(signature, signOwnerSession(ownerToken, until)) && Number(until) > now.getTime();
}

function signOwnerSession(ownerToken: string, until: string): string {
  return createHmac('sha256', ownerToken).update(`halo browser session until ${until}`).digest('base64url');
}
