import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';

/** A private key with its certificate, as PEM. */
interface Identity {
  key: string;
  cert: string;
}

/** A certificate authority whose key exists only in the memory of this process. */
export interface CertificateAuthority {
  /** The certificate of the authority, as PEM. */
  certificate: string;
  /** Creates an identity for a host name. */
  issue(host: string): Identity;
}

/** Certificates of sandboxes end with them; this is more than any command may take. */
const VALID_MS = 30 * 86_400_000;
/** The clock of a container may be a little behind. */
const SKEW_MS = 86_400_000;

/** Creates an authority that is valid for 30 days. Its certificates are those of RFC 5280, with keys on P-256. */
export function createCertificateAuthority(name: string): CertificateAuthority {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const usages = [
    extension('551d13', sequence(TRUE), { critical: true }),
    extension('551d0f', tagged(0x03, bytes('0106')), { critical: true }),
    extension('551d0e', tagged(0x04, keyIdOf(own.publicKey))),
  ];
  const signed = (subject: string, key: KeyObject, extensions: Buffer[]) =>
    certificate({ issuer: name, subject, key, extensions, signer: own.privateKey });
  const certificateText = signed(name, own.publicKey, usages);
  return {
    certificate: certificateText,
    issue: (host) => {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const extensions = [
        // Only for servers, and only for this name.
        extension('551d25', sequence(oid('2b06010505070301'))),
        extension('551d23', sequence(tagged(0x80, keyIdOf(own.publicKey)))),
        extension('551d11', sequence(tagged(0x82, Buffer.from(host, 'latin1')))),
      ];
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
      return { key, cert: signed(host, publicKey, extensions) };
    },
  };
}

interface CertificateFields {
  issuer: string;
  subject: string;
  key: KeyObject;
  extensions: Buffer[];
  signer: KeyObject;
}

function certificate({ issuer, subject, key, extensions, signer }: CertificateFields): string {
  const now = Date.now();
  const body = sequence(
    tagged(0xa0, integer(bytes('02'))),
    integer(Buffer.concat([bytes('01'), randomBytes(15)])),
    ECDSA_SHA256,
    nameOf(issuer),
    sequence(time(now - SKEW_MS), time(now + VALID_MS)),
    nameOf(subject),
    key.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = tagged(0x03, Buffer.concat([bytes('00'), sign('sha256', body, signer)]));
  const text = sequence(body, ECDSA_SHA256, signature).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${text.replace(/.{64}/g, '$&\n').trimEnd()}\n-----END CERTIFICATE-----\n`;
}

const TRUE = bytes('0101ff');
const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));

function extension(id: string, value: Buffer, { critical = false } = {}): Buffer {
  return sequence(oid(id), ...(critical ? [TRUE] : []), tagged(0x04, value));
}

/** Identifies the key of the authority in the certificates that it issues. */
function keyIdOf(key: KeyObject): Buffer {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20);
}

/** A distinguished name with a common name, which has at most 64 characters. */
function nameOf(text: string): Buffer {
  const commonName = sequence(oid('550403'), tagged(0x0c, Buffer.from(text.slice(0, 64), 'utf8')));
  return sequence(tagged(0x31, commonName));
}

function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  return tagged(0x18, Buffer.from(text, 'latin1'));
}

function oid(hex: string): Buffer {
  return tagged(0x06, bytes(hex));
}

function integer(value: Buffer): Buffer {
  return tagged(0x02, value);
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

/** A value of ASN.1 in DER. */
function tagged(tag: number, value: Buffer): Buffer {
  const length = value.length;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), value]);
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}
