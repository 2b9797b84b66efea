import { checkSandbox } from '../../../api/doctor/checks.ts';
import { foldSame, type Finding } from '../../../api/doctor/doctor-finding.ts';
import { readEngineAddress, requireEngine } from '../../../config/engine-address.ts';
import type { EngineAddress } from '../../../core/engine/engine-address.ts';
import { toHaloError } from '../../../core/failure/errors.ts';
import { ignore } from '../../../lib/async.ts';
import { isOlderVersion } from '../../../lib/version.ts';
import { openDockerEngine } from '../../../sandbox/docker/engine.ts';
import { HALO_IMAGE } from '../../../sandbox/docker/image/image-recipe.ts';
import type { SandboxEngine } from '../../../sandbox/sandbox.ts';
import { findConnectionFault, judgeEnd } from '../core/connection-faults.ts';
import { readPeerCertificate } from './peer-certificate.ts';
import { findSameEngines, sameEngineText } from '../worker/same-engines.ts';

const MIN_VERSION = '20.10';

/** Checks an engine of config.toml from its connection to the isolation of a sandbox. Throws CONFIG_INVALID. */
export async function checkEngine(home: string, name: string): Promise<Finding[]> {
  const at = await readEngineAddress(home, await requireEngine(home, name));
  const engine = openDockerEngine(at);
  const connection = await checkConnection(engine, at);
  if (connection.ok === 'fail') return [connection];
  const image = await checkImage(engine, name);
  const findings = [connection, ...(await checkCertificate(at)), ...(await checkOthers(home, at)), image];
  return image.ok === 'fail' ? findings : foldSame([...findings, ...(await checkSandbox(engine, home).catch(failed))]);
}

function failed(error: unknown): Finding[] {
  const { message, hint } = toHaloError(error);
  return [{ name: 'sandbox', ok: 'fail', says: message, ...(hint !== undefined && { fix: hint }) }];
}

async function checkConnection(engine: SandboxEngine, { address = '' }: EngineAddress): Promise<Finding> {
  try {
    const { version, apiVersion } = await engine.info();
    const says = `${address}, Docker ${version}, API ${apiVersion}`;
    if (!isOlderVersion(version, MIN_VERSION)) return { name: 'connection', ok: 'ok', says };
    return { name: 'connection', ok: 'fail', says, fix: `update Docker to ${MIN_VERSION} or newer` };
  } catch (error) {
    const { message, hint, cause } = toHaloError(error);
    const fault = cause instanceof Error ? findConnectionFault(cause) : undefined;
    if (fault !== undefined)
      return { name: 'connection', ok: 'fail', says: `${address}: ${fault.says}`, fix: fault.fix };
    return { name: 'connection', ok: 'fail', says: message, ...(hint !== undefined && { fix: hint }) };
  }
}

async function checkCertificate({ name, address, tls }: EngineAddress): Promise<Finding[]> {
  if (address === undefined || tls === undefined) return [];
  const { validTo } = await readPeerCertificate(address, tls);
  const { isSoon, says } = judgeEnd(new Date(validTo), new Date());
  if (!isSoon) return [{ name: 'certificate', ok: 'ok', says }];
  return [{ name: 'certificate', ok: 'warn', says, fix: `\`halo engine rekey ${name}\` renews it` }];
}

/** Workers of both would run twice as many stories there as either has slots. */
async function checkOthers(home: string, at: EngineAddress): Promise<Finding[]> {
  const [other] = await findSameEngines(home, at);
  if (other === undefined) return [];
  return [{ name: 'engine', ok: 'warn', ...sameEngineText(at.name, other) }];
}

/** A run takes the image that it had at its submit, so the engine of this machine and this one should have the same. */
async function checkImage(engine: SandboxEngine, name: string): Promise<Finding> {
  const fix = `halo image push ${name}`;
  const [there, here] = await Promise.all([engine.imageId(HALO_IMAGE), openDockerEngine().imageId(HALO_IMAGE).catch(ignore)]); // prettier-ignore
  if (there === undefined) return { name: 'image', ok: 'fail', says: `${HALO_IMAGE} is not on this engine`, fix };
  if (here !== undefined && here !== there)
    return { name: 'image', ok: 'warn', says: `${HALO_IMAGE} is not the one of this machine`, fix };
  return { name: 'image', ok: 'ok', says: `${HALO_IMAGE} ${there.slice(7, 19)}` };
}
