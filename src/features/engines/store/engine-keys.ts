import { randomBytes, X509Certificate, type KeyObject } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { HaloError } from '../../../core/failure/errors.ts';
import { ensurePrivateFolder, pathExists, readIfExists, writeAtomic } from '../../../lib/fs.ts';
import { isRecord } from '../../../lib/guards.ts';
import { withLock } from '../../../lib/lock.ts';
import { tryParseJson } from '../../../lib/parse-json.ts';
import {
  createAuthority,
  createKey,
  keyFingerprint,
  readSigningRequest,
  signCertificate,
  type Identity,
} from '../../../lib/network/certificate-authority.ts';
import { withDiskErrors } from '../../../store/disk-errors.ts';
import { judgeEnd } from '../core/connection-faults.ts';
import {
  INVITATION_MS,
  isAuthentic,
  judgeJoin,
  toPemRequest,
  type Invitation,
  type JoinRequest,
} from '../core/join.ts';

const DAY_MS = 86_400_000;
/** Of the authority and of its one client. */
const AUTHORITY_MS = 5 * 365 * DAY_MS;
/** Of an engine's certificate, which can be renewed at any time. */
export const SERVER_MS = 180 * DAY_MS;

/** The certificate of an engine with its authority, PEM. */
export interface IssuedCertificate {
  cert: string;
  ca: string;
}

/**
 * The certificate authority for engines and what each engine knows of it, below `<HALO_HOME>/engines`, readable by its owner
 * only: `_authority` has the key of the authority and the one key of a client; the folder of an engine has the files with
 * which halo reaches it. Every function may throw DISK_FAILED.
 */
export class EngineKeys {
  readonly #dir: string;

  constructor(home: string) {
    this.#dir = join(home, 'engines');
  }

  /** Lets halo reach an engine with the keys of the authority, which is created first if there is none. */
  async admit(name: string): Promise<void> {
    await this.#exclusively(async () => {
      if (!(await pathExists(this.#at(AUTHORITY)))) await this.#createAuthority();
      await this.#writeClient(name);
    });
  }

  /** The authority's certificate, PEM; undefined if there is none. */
  async authority(): Promise<string | undefined> {
    return readIfExists(this.#at(AUTHORITY, 'ca.pem'));
  }

  /** What a client of the present authority needs, PEM. Throws CONFIG_INVALID. */
  async client(): Promise<{ ca: string; cert: string; key: string }> {
    const { cert: ca } = await this.#readAuthority();
    const [cert = '', key = ''] = await Promise.all(
      ['client.pem', 'client-key.pem'].map((file) => readIfExists(this.#at(AUTHORITY, file))),
    );
    return { ca, cert, key };
  }

  /** Whether halo reaches an engine with the keys of the present authority. */
  async isCurrent(name: string): Promise<boolean> {
    const [own, present] = await Promise.all([readIfExists(this.#at(name, 'ca.pem')), this.authority()]);
    return own !== undefined && own === present;
  }

  /** Lets one machine join as an engine, for a limited time, and returns the token for it. */
  async invite(name: string, now: Date): Promise<Invitation> {
    const expiresAt = new Date(now.getTime() + INVITATION_MS).toISOString();
    const invitation = { token: randomBytes(24).toString('hex'), expiresAt };
    await this.#exclusively(() => writeAtomic(this.#at(name, 'invitation.json'), JSON.stringify(invitation), true));
    return invitation;
  }

  /** Certifies the key of a machine that was invited, and pins it. Undefined: its request is refused. */
  async join(request: JoinRequest, { host, now }: { host: string; now: Date }): Promise<IssuedCertificate | undefined> {
    const { name } = request;
    return this.#exclusively(async () => {
      const invitation = toInvitation(await readIfExists(this.#at(name, 'invitation.json')));
      // First: anyone can send a request, and its certificate request is not parsed for them.
      if (invitation === undefined || !isAuthentic(request, invitation.token)) return undefined;
      const key = readSigningRequest(toPemRequest(request.csr));
      const fingerprint = keyFingerprint(key);
      if (judgeJoin(request, { invitation, fingerprint, now }) !== 'ok') return undefined;
      await writeAtomic(
        this.#at(name, 'invitation.json'),
        JSON.stringify({ ...invitation, usedBy: fingerprint }),
        true,
      );
      return (await this.#findIssued(name, { key, host, now })) ?? this.#certify(name, key, host);
    });
  }

  /** When the last certificate of an engine ends; undefined: none is known. */
  async certificateEnd(name: string): Promise<Date | undefined> {
    const cert = await this.#readCertificate(name);
    return cert && new Date(cert.validTo);
  }

  /** When the certificates of the authority and of its one client end; none if there is no authority. */
  async ownEnds(): Promise<{ of: 'authority' | 'client'; end: Date }[]> {
    const files = { authority: 'ca.pem', client: 'client.pem' } as const;
    const found = (['authority', 'client'] as const).map(async (of) => {
      const cert = await this.#readCertificate(AUTHORITY, files[of]);
      return cert === undefined ? [] : [{ of, end: new Date(cert.validTo) }];
    });
    return (await Promise.all(found)).flat();
  }

  /** Certifies the key of a signing request (PEM) for an engine, and pins it. Throws USAGE. */
  async sign(name: string, csr: string, host: string): Promise<IssuedCertificate> {
    return this.certify(name, readKey(csr), host);
  }

  /** Certifies a key for an engine, and pins it. */
  async certify(name: string, key: KeyObject, host: string): Promise<IssuedCertificate> {
    return this.#exclusively(() => this.#certify(name, key, host));
  }

  /** SHA-256 of the key that was certified for an engine, hex; undefined: none. */
  async fingerprint(name: string): Promise<string | undefined> {
    return (await readIfExists(this.#at(name, 'fingerprint')))?.trim();
  }

  /** Whether the machine of a configured engine has a certificate, or needs none of halo. */
  async hasJoined({ name, address, ca }: { name: string; address: string; ca?: string | undefined }): Promise<boolean> {
    return address.startsWith('unix:') || ca !== undefined || (await this.fingerprint(name)) !== undefined;
  }

  /** Forgets an engine. */
  async remove(name: string): Promise<void> {
    await withDiskErrors(this.#dir, () => rm(this.#at(name), { recursive: true, force: true }));
  }

  /** Replaces the authority and the key of the client. Engines keep theirs until each is admitted again. */
  async renewAuthority(): Promise<void> {
    await this.#exclusively(() => this.#createAuthority());
  }

  /** The certificate that a machine which joins again has already, and keeps as long as it is valid for another month. */
  async #findIssued(
    name: string,
    { key, host, now }: { key: KeyObject; host: string; now: Date },
  ): Promise<IssuedCertificate | undefined> {
    const [known, { cert: ca }] = await Promise.all([this.#readCertificate(name), this.#readAuthority()]);
    if (known === undefined || keyFingerprint(known.publicKey) !== keyFingerprint(key)) return undefined;
    const isForHost = (isIP(host) === 0 ? known.checkHost(host) : known.checkIP(host)) !== undefined;
    const isOurs = known.verify(new X509Certificate(ca).publicKey);
    if (!isForHost || !isOurs || judgeEnd(new Date(known.validTo), now).isSoon) return undefined;
    if ((await this.fingerprint(name)) !== keyFingerprint(key)) return undefined;
    return { cert: known.toString(), ca };
  }

  async #readCertificate(name: string, file = 'cert.pem'): Promise<X509Certificate | undefined> {
    const text = await readIfExists(this.#at(name, file));
    try {
      return text === undefined ? undefined : new X509Certificate(text);
    } catch {
      return undefined;
    }
  }

  async #certify(name: string, key: KeyObject, host: string): Promise<IssuedCertificate> {
    const authority = await this.#readAuthority();
    const cert = signCertificate(authority, { publicKey: key, use: 'server', names: [host], validMs: SERVER_MS });
    await ensurePrivateFolder(this.#at(name));
    await writeAtomic(this.#at(name, 'fingerprint'), `${keyFingerprint(key)}\n`, true);
    await writeAtomic(this.#at(name, 'cert.pem'), cert, true);
    return { cert, ca: authority.cert };
  }

  async #createAuthority(): Promise<void> {
    const own = createAuthority(`halo engines ${randomBytes(4).toString('hex')}`, AUTHORITY_MS);
    const { publicKey, key } = createKey();
    const client = signCertificate(own, { publicKey, use: 'client', names: ['halo'], validMs: AUTHORITY_MS });
    const [place, aside] = [this.#at(AUTHORITY), this.#at(`.${randomBytes(4).toString('hex')}.tmp`)];
    await ensurePrivateFolder(aside);
    const files = { 'ca.pem': own.cert, 'ca-key.pem': own.key, 'client.pem': client, 'client-key.pem': key };
    for (const [file, text] of Object.entries(files)) await writeAtomic(join(aside, file), text, true);
    if (await pathExists(place)) {
      const old = this.#at(`.${randomBytes(4).toString('hex')}.tmp`);
      await rename(place, old);
      await rename(aside, place);
      await rm(old, { recursive: true, force: true });
    } else await rename(aside, place);
  }

  async #readAuthority(): Promise<Identity> {
    const [cert, key] = await Promise.all([this.authority(), readIfExists(this.#at(AUTHORITY, 'ca-key.pem'))]);
    if (cert !== undefined && key !== undefined) return { cert, key };
    throw new HaloError('CONFIG_INVALID', `${this.#at(AUTHORITY)} has no certificate authority.`, {
      hint: 'Add engines with `halo engine add`, which creates it, or restore the folder from a backup.',
    });
  }

  async #writeClient(name: string): Promise<void> {
    await ensurePrivateFolder(this.#at(name));
    for (const file of ['ca.pem', 'client.pem', 'client-key.pem']) {
      const text = await readIfExists(this.#at(AUTHORITY, file));
      if (text !== undefined) await writeAtomic(this.#at(name, file), text, true);
    }
  }

  async #exclusively<T>(work: () => Promise<T>): Promise<T> {
    return withDiskErrors(this.#dir, async () => {
      await ensurePrivateFolder(this.#dir);
      return withLock(join(this.#dir, '.lock'), work);
    });
  }

  #at(...names: string[]): string {
    return join(this.#dir, ...names);
  }
}

/** No engine has a name with an underscore, and a backup leaves out names that begin with a dot. */
const AUTHORITY = '_authority';

function readKey(csr: string): KeyObject {
  try {
    return readSigningRequest(csr);
  } catch (error) {
    throw new HaloError('USAGE', `The signing request cannot be used: ${(error as Error).message}.`, {
      hint: 'Make it on the machine of the engine, as `halo engine add --help` shows.',
      cause: error,
    });
  }
}

function toInvitation(text: string | undefined): Invitation | undefined {
  const value = text === undefined ? undefined : tryParseJson(text);
  if (!isRecord(value) || typeof value.token !== 'string' || typeof value.expiresAt !== 'string') return undefined;
  const usedBy = typeof value.usedBy === 'string' ? value.usedBy : undefined;
  return { token: value.token, expiresAt: value.expiresAt, usedBy };
}

/** SHA-256 of a certificate (DER), hex, which people and machines compare. */
export function certificateHash(pem: string): string {
  return new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase();
}
