import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  verify,
  X509Certificate,
  type KeyObject,
} from 'node:crypto';
import { isIP } from 'node:net';

/** A private key with its certificate, as PEM. */
export interface Identity {
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
/** The clock of a container, or of another machine, may be a little behind. */
const SKEW_MS = 86_400_000;

/** Creates an authority that is valid for 30 days. Its certificates are those of RFC 5280, with keys on P-256. */
export function createCertificateAuthority(name: string): CertificateAuthority {
  const authority = createAuthority(name, VALID_MS);
  return {
    certificate: authority.cert,
    issue: (host) => {
      const { publicKey, key } = createKey();
      return { key, cert: signCertificate(authority, { publicKey, use: 'server', names: [host], validMs: VALID_MS }) };
    },
  };
}

/** Creates a self-signed identity that may sign certificates. */
export function createAuthority(name: string, validMs: number): Identity {
  const { publicKey, key } = createKey();
  const usages = [
    extension('551d13', sequence(TRUE), { critical: true }),
    extension('551d0f', tagged(0x03, bytes('0106')), { critical: true }),
    extension('551d0e', tagged(0x04, keyIdOf(publicKey))),
  ];
  const signer = createPrivateKey(key);
  return {
    key,
    cert: certificate({ issuer: name, subject: name, key: publicKey, validMs, extensions: usages, signer }),
  };
}

/** A new private key on P-256, as PEM, with its public key. */
export function createKey(): { publicKey: KeyObject; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { publicKey, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

export interface CertificateRequest {
  publicKey: KeyObject;
  /** A server cannot use it as a client, and the reverse. */
  use: 'server' | 'client';
  /** DNS names and IP addresses; the first is also the subject. */
  names: readonly [string, ...string[]];
  validMs: number;
}

/** Signs a certificate, PEM, that is valid for these names and this use only. */
export function signCertificate(authority: Identity, { publicKey, use, names, validMs }: CertificateRequest): string {
  const { publicKey: signerKey, subject } = new X509Certificate(authority.cert);
  const extensions = [
    extension('551d25', sequence(oid(USES[use]))),
    extension('551d23', sequence(tagged(0x80, keyIdOf(signerKey)))),
    extension('551d11', sequence(...names.map(alternativeName))),
  ];
  return certificate({
    issuer: subject.replace(/^CN=/, ''),
    subject: names[0],
    key: publicKey,
    validMs,
    extensions,
    signer: createPrivateKey(authority.key),
  });
}

/** Extended key usages. */
const USES = { server: '2b06010505070301', client: '2b06010505070302' };

function alternativeName(name: string): Buffer {
  const version = isIP(name);
  return version === 0 ? tagged(0x82, Buffer.from(name, 'latin1')) : tagged(0x87, addressBytes(name, version));
}

function addressBytes(address: string, version: number): Buffer {
  if (version === 4) return Buffer.from(address.split('.').map(Number));
  // As a URL, an address of version 6 has its short form: zeros stand at `::`.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [before, after] = [head, tail ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(8 - before!.length - after!.length).fill('0');
  return Buffer.from([...before!, ...zeros, ...after!].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/**
 * Returns the public key of a certificate signing request (PKCS #10, PEM). Everything else that it asks for, such as names
 * and rights, is not read. Throws an Error unless the request is signed with SHA-256 by this key.
 */
export function readSigningRequest(pem: string): KeyObject {
  const text = /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([\sA-Za-z0-9+/=]+)-----END/.exec(pem)?.[1];
  if (text === undefined) throw new Error('it is not a certificate signing request in PEM');
  const [info, , signature] = readParts(readParts(Buffer.from(text, 'base64'))[0]?.value);
  const key = readParts(info?.value)[2];
  if (info === undefined || key === undefined || signature === undefined) throw new Error('it is damaged');
  const publicKey = createPublicKey({ key: key.whole, type: 'spki', format: 'der' });
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKey;
  const isStrong =
    (type === 'ec' && /^(?:prime256v1|secp384r1)$/.test(details?.namedCurve ?? '')) ||
    (type === 'rsa' && (details?.modulusLength ?? 0) >= 2_048);
  if (!isStrong) throw new Error('its key is not on P-256 or P-384, nor RSA with at least 2048 bits');
  if (!verify('sha256', info.whole, publicKey, signature.value.subarray(1)))
    throw new Error('it is not signed with SHA-256 by its own key');
  return publicKey;
}

/** SHA-256 of a public key (SPKI), hex: the same for all certificates of a key. */
export function keyFingerprint(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

interface Part {
  /** With tag and length. */
  whole: Buffer;
  value: Buffer;
}

/** The values of ASN.1 in DER that follow each other; damaged ones end the list. */
function readParts(from: Buffer = Buffer.alloc(0)): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at + 2 <= from.length;) {
    const first = from.readUInt8(at + 1);
    const extra = first < 0x80 ? 0 : first & 0x7f;
    if (extra > 3 || at + 2 + extra > from.length) break;
    const start = at + 2 + extra;
    const end = start + (extra === 0 ? first : from.readUIntBE(at + 2, extra));
    if (first === 0x80 || end > from.length) break;
    parts.push({ whole: from.subarray(at, end), value: from.subarray(start, end) });
    at = end;
  }
  return parts;
}

interface CertificateFields {
  issuer: string;
  subject: string;
  key: KeyObject;
  validMs: number;
  extensions: Buffer[];
  signer: KeyObject;
}

function certificate({ issuer, subject, key, validMs, extensions, signer }: CertificateFields): string {
  const now = Date.now();
  const body = sequence(
    tagged(0xa0, integer(bytes('02'))),
    integer(Buffer.concat([bytes('01'), randomBytes(15)])),
    ECDSA_SHA256,
    nameOf(issuer),
    sequence(time(now - SKEW_MS), time(now + validMs)),
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
