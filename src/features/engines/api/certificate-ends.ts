import type { Finding } from '../../../api/doctor/doctor-finding.ts';
import { readEngines } from '../../../config/host-rules.ts';
import { judgeEnd } from '../core/connection-faults.ts';
import { EngineKeys } from '../store/engine-keys.ts';

/** A gauge of `/metrics`: when the certificates that halo has made end, in seconds since 1970. Throws CONFIG_INVALID, DISK_FAILED. */
export async function readCertificateGauges(home: string) {
  const keys = new EngineKeys(home);
  const engines = await readEngines(home);
  const ofEngines = engines.map(async ({ name }) => ({
    labels: { certificate: 'server', engine: name },
    end: await keys.certificateEnd(name),
  }));
  const own = (await keys.ownEnds()).map(({ of, end }) => ({ labels: { certificate: of }, end }));
  const values = [...own, ...(await Promise.all(ofEngines))].flatMap(({ labels, end }) =>
    end === undefined ? [] : { labels, value: end.getTime() / 1000 },
  );
  const help = 'When a certificate of engines ends: of an engine, of the authority, or of the client of this server.';
  return [{ name: 'engine_certificate_expiry_timestamp_seconds', help, values }];
}

/** What `halo doctor` says of the authority and its client, on which all engines depend: nothing if they are valid for long. */
export async function checkOwnCertificates(home: string, now = new Date()): Promise<Finding[]> {
  return (await new EngineKeys(home).ownEnds()).flatMap(({ of, end }): Finding[] => {
    const { isSoon, says } = judgeEnd(end, now);
    const fix = '`halo engine rekey` replaces it on all engines';
    return isSoon ? [{ name: `engines: ${OWN[of]}`, ok: 'warn', says, fix }] : [];
  });
}

const OWN = { authority: 'certificate authority', client: 'client certificate' };
