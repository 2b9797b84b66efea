/** What is wrong with the connection to an engine, and what to do about it. */
export interface ConnectionFault {
  says: string;
  fix: string;
}

/** An error of Node. */
interface FailedConnection {
  code?: string | undefined;
  message: string;
}

const FIREWALL = 'start Docker there, and let the firewall of the machine admit this server';
const START =
  'start Docker there, where `journalctl -u docker` says why it has ended, and let the firewall of the machine admit this server';
const JOIN_AGAIN = 'let the machine join again, with the command that `halo engine add` and its name prints';

/** By code and message of Node's errors, such as `EPROTO write EPROTO …: wrong version number`; the first that matches. */
const FAULTS: readonly (readonly [RegExp, ConnectionFault])[] = [
  [/^ECONNREFUSED /, { says: 'no program listens at this address', fix: START }],
  [/^(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH) /, { says: 'the machine does not answer', fix: FIREWALL }],
  [
    /^(?:ENOTFOUND|EAI_AGAIN) /,
    { says: 'the name of the machine is not known', fix: 'correct its address, or the name server' },
  ],
  [/^CERT_HAS_EXPIRED /, { says: 'its certificate has expired', fix: JOIN_AGAIN }],
  [/^CERT_NOT_YET_VALID /, { says: 'its certificate is not valid yet', fix: 'correct the clock of this server' }],
  [/^ERR_TLS_CERT_ALTNAME_INVALID /, { says: 'its certificate is for another machine', fix: JOIN_AGAIN }],
  [
    /^ERR_TLS_CERT_FINGERPRINT /,
    { says: 'its key is not the one with which it joined: another machine may answer in its place', fix: JOIN_AGAIN },
  ],
  [
    /^(?:\w*SELF_SIGNED|UNABLE_TO_|CERT_SIGNATURE_FAILURE|INVALID_PURPOSE)/,
    { says: 'its certificate is not one of this server', fix: JOIN_AGAIN },
  ],
  [
    /alert (?:bad|unsupported) certificate|alert unknown ca|certificate required/,
    { says: 'it does not accept the key of this server', fix: JOIN_AGAIN },
  ],
  [/wrong version number|packet length too long|http request/, { says: 'it does not speak TLS', fix: JOIN_AGAIN }],
  [
    /unsupported protocol|alert protocol version/,
    { says: 'it speaks only versions of TLS before 1.2', fix: 'update Docker there' },
  ],
];

/** Undefined for an error that is not one of a connection. */
export function findConnectionFault({ code = '', message }: FailedConnection): ConnectionFault | undefined {
  return FAULTS.find(([pattern]) => pattern.test(`${code} ${message}`))?.[1];
}

/** From so many days before its end, a certificate is reported. */
const RENEW_DAYS = 30;

/** How long a certificate is still valid. `end`: ISO 8601. */
export function judgeEnd(end: Date, now: Date): { isSoon: boolean; says: string } {
  const days = Math.floor((end.getTime() - now.getTime()) / 86_400_000);
  return { isSoon: days < RENEW_DAYS, says: `valid until ${end.toISOString().slice(0, 10)}, ${days} days` };
}
