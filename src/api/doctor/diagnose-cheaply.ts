import type { Host } from '../../config/config.ts';
import { diagnose } from './diagnose.ts';
import type { Finding } from './doctor-finding.ts';

/** Findings, and when they were made. */
interface Diagnosis {
  /** ISO 8601 */
  at: string;
  findings: Finding[];
  /** The names of the checks that did not run. */
  skipped: string[];
}

const MAX_AGE_MS = 60_000;
/** These checks start containers, or measure an engine for long. */
const COSTLY = ['sandbox', 'agent', 'snapshots'];

/** By HALO_HOME. */
const latest = new Map<string, { until: number; diagnosis: Promise<Diagnosis> }>();

/** Runs the checks that start no container. Requests within a minute share one result. */
export async function diagnoseCheaply(host: Host): Promise<Diagnosis> {
  const known = latest.get(host.home);
  if (known !== undefined && performance.now() < known.until) return known.diagnosis;
  const at = new Date().toISOString();
  const diagnosis = diagnose(host, COSTLY).then((findings) => ({ at, findings, skipped: COSTLY }));
  latest.set(host.home, { until: performance.now() + MAX_AGE_MS, diagnosis });
  return diagnosis;
}
