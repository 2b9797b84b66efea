import { createHmac, timingSafeEqual } from 'node:crypto';

/** An invitation for one machine to get the server certificate of an engine. */
export interface Invitation {
  /** Hex. */
  token: string;
  /** ISO 8601 */
  expiresAt: string;
  /** The fingerprint of the key that was certified with it; absent: none yet. */
  usedBy?: string | undefined;
}

/** What a machine sends: never the token itself, which only makes `mac`. */
export interface JoinRequest {
  name: string;
  /** A certificate signing request: base64 of DER. */
  csr: string;
  /** HMAC-SHA256 with the token over name, newline and csr; hex. */
  mac: string;
}

export type JoinVerdict = 'ok' | 'wrong' | 'late' | 'used';

/** How long an invitation is valid. */
export const INVITATION_MS = 60 * 60_000;

/**
 * Decides on a request with a key of this fingerprint. A machine may repeat its request, because its answer may have been
 * lost; the token of one key is never valid for another one.
 */
export function judgeJoin(
  request: JoinRequest,
  { invitation, fingerprint, now }: { invitation: Invitation | undefined; fingerprint: string; now: Date },
): JoinVerdict {
  if (invitation === undefined || !isAuthentic(request, invitation.token)) return 'wrong';
  if (now >= new Date(invitation.expiresAt)) return 'late';
  return invitation.usedBy === undefined || invitation.usedBy === fingerprint ? 'ok' : 'used';
}

/** Whether the sender of a request knows the token. */
export function isAuthentic(request: JoinRequest, token: string): boolean {
  const [given, expected] = [Buffer.from(request.mac, 'hex'), joinMac(request, token)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** The bytes of `mac`. */
export function joinMac({ name, csr }: Pick<JoinRequest, 'name' | 'csr'>, token: string): Buffer {
  return createHmac('sha256', token).update(`${name}\n${csr}`).digest();
}

/** A signing request as PEM, from base64 of DER. */
export function toPemRequest(csr: string): string {
  return `-----BEGIN CERTIFICATE REQUEST-----\n${csr}\n-----END CERTIFICATE REQUEST-----\n`;
}
