import { X509Certificate } from 'node:crypto';
import { readEngineAddress, requireEngine } from '../../../config/engine-address.ts';
import { readEngines } from '../../../config/host-rules.ts';
import type { EngineAddress } from '../../../core/engine/engine-address.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { defined } from '../../../lib/guards.ts';
import { sleep } from '../../../lib/async.ts';
import { keyFingerprint } from '../../../lib/network/certificate-authority.ts';
import { writeEngineFiles } from '../../../sandbox/docker/engine-files.ts';
import { hostOfAddress } from '../core/engine-entry.ts';
import { EngineKeys } from '../store/engine-keys.ts';
import { readPeerCertificate } from './peer-certificate.ts';

/** Where `docker/engine/join.sh` keeps the certificates on the machine of an engine. */
const FOLDER = '/etc/docker/halo';
/** How long the machine may take to restart Docker at most, in ms, and how often that is tried. */
const RESTART_MS = 10 * 60_000;
const EVERY_MS = 1_000;

/**
 * Begins to replace the authority and the key of its client, unless an earlier replacement has not reached all engines, which
 * is continued then. Returns the engines that still have the old ones. Until then, both are valid.
 */
export async function beginRekey(home: string): Promise<string[]> {
  const keys = new EngineKeys(home);
  const engines = (await readEngines(home)).filter(({ address, ca }) => ca === undefined && address.startsWith('tcp:'));
  if (engines.length === 0)
    throw new HaloError('USAGE', 'No engine of config.toml has certificates of halo.', {
      hint: 'Add one with `halo engine add`.',
    });
  const names = engines.map(({ name }) => name);
  const isCurrent = await Promise.all(names.map((name) => keys.isCurrent(name)));
  if (!isCurrent.every(Boolean)) return names.filter((_name, index) => isCurrent[index] !== true);
  await keys.renewAuthority();
  return names;
}

/**
 * Gives an engine that runs no story a new certificate for its key, by the present authority, and the authority itself. Docker
 * restarts there with it: by itself with systemd, otherwise when a person restarts it. Returns whether halo reaches the engine
 * with another key now, which its workers read when they start. `onStored`: called when the certificate is on the machine;
 * `waitMs`: how long the restart may take, at most 10 minutes. Throws CONFIG_INVALID, DOCKER_UNAVAILABLE, DOCKER_FAILED.
 */
export async function rekeyEngine(
  home: string,
  name: string,
  { waitMs, onStored }: { waitMs: number; onStored: () => Promise<void> },
): Promise<boolean> {
  const at = await readEngineAddress(home, await requireEngine(home, name));
  const { address = '', tls } = at;
  const host = hostOfAddress(address);
  if (host === undefined || tls === undefined)
    throw new HaloError('USAGE', `The engine ${name} is at a socket, which has no certificate.`);
  const keys = new EngineKeys(home);
  const next: EngineAddress = {
    ...at,
    tls: { ...(await keys.client()), ...defined({ fingerprint: tls.fingerprint }) },
  };
  const isOther = !(await keys.isCurrent(name));
  // An earlier call may have ended between the two.
  if (isOther && (await isServed(next))) {
    await keys.admit(name);
    return isOther;
  }
  const peer = await readPeerCertificate(address, tls).catch((cause: Error) => {
    throw new HaloError('DOCKER_UNAVAILABLE', `The engine ${name} cannot be reached: ${cause.message}.`, {
      hint: `\`halo engine check ${name}\` says why.`,
      cause,
    });
  });
  if (keyFingerprint(peer.publicKey) !== tls.fingerprint)
    throw new HaloError('DOCKER_UNAVAILABLE', `The engine ${name} does not have the key with which it joined.`, {
      hint: `Let its machine join again: \`halo engine add ${name}\` prints the command.`,
    });
  const issued = await keys.certify(name, peer.publicKey, host);
  await writeEngineFiles(at, FOLDER, { 'ca.pem': issued.ca, 'cert.pem': issued.cert });
  await onStored();
  await untilServed(next, issued.cert, Math.min(waitMs, RESTART_MS));
  await keys.admit(name);
  return isOther;
}

/** Waits until the engine uses a certificate. */
async function untilServed(at: EngineAddress, cert: string, waitMs: number): Promise<void> {
  const { raw } = new X509Certificate(cert);
  for (const end = Date.now() + waitMs; !(await isServed(at, raw)); await sleep(EVERY_MS))
    if (Date.now() > end)
      throw new HaloError(
        'DOCKER_UNAVAILABLE',
        `The engine ${at.name} has its new certificate, but does not use it yet.`,
        {
          hint: 'Restart Docker there, then run `halo engine rekey` again.',
        },
      );
}

/** Whether an engine uses a certificate of this authority, or exactly this one. */
async function isServed({ address = '', tls }: EngineAddress, raw?: Buffer): Promise<boolean> {
  const served = tls && (await readPeerCertificate(address, tls).catch(() => undefined));
  return served !== undefined && (raw === undefined || served.raw.equals(raw));
}
