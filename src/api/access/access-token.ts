import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

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
