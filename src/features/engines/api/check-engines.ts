import type { Finding } from '../../../api/doctor/doctor-finding.ts';
import { readEngines } from '../../../config/host-rules.ts';
import { toHaloError } from '../../../core/failure/errors.ts';
import { withTimeout } from '../../../lib/async.ts';
import { checkOwnCertificates } from './certificate-ends.ts';
import { checkEngine } from './check-engine.ts';

/** How long the checks of one engine may take. */
const DEADLINE_MS = 60_000;

/** A finding about an engine; without a name, it is about the engine as a whole. */
interface Found {
  engine: string;
  finding: Finding;
}

/**
 * Checks all engines of config.toml beside each other: a line for each that works, and what is wrong with the others. What is
 * wrong with several is said once.
 */
export async function checkEngines(
  home: string,
  { check = checkEngine, deadlineMs = DEADLINE_MS }: { check?: typeof checkEngine; deadlineMs?: number } = {},
): Promise<Finding[]> {
  const engines = await readEngines(home);
  const found = await Promise.all(
    engines.map(async ({ name: engine }): Promise<Found[]> => {
      const name = '';
      try {
        let findings: Finding[] = [];
        const end = await withTimeout(
          deadlineMs,
          check(home, engine).then((all) => (findings = all)),
        );
        if (end === 'in time') return summarize(findings).map((finding) => ({ engine, finding }));
        const says = `its checks have not ended after ${deadlineMs / 1000} s`;
        return [{ engine, finding: { name, ok: 'fail', says, fix: `halo engine check ${engine}` } }];
      } catch (error) {
        const { message, hint } = toHaloError(error);
        return [{ engine, finding: { name, ok: 'fail', says: message, ...(hint !== undefined && { fix: hint }) } }];
      }
    }),
  );
  return [...foldEngines(found.flat()), ...(engines.length === 0 ? [] : await checkOwnCertificates(home))];
}

function summarize(findings: readonly Finding[]): Finding[] {
  const wrong = findings.filter(({ ok }) => ok !== 'ok');
  if (wrong.some(({ ok }) => ok === 'fail')) return wrong;
  const [first] = findings;
  return [{ name: '', ok: 'ok', says: first?.says ?? 'works' }, ...wrong];
}

function foldEngines(found: readonly Found[]): Finding[] {
  const same = new Map<string, Found[]>();
  for (const each of found) {
    const key = JSON.stringify(each.finding.ok === 'ok' ? each : each.finding);
    same.set(key, [...(same.get(key) ?? []), each]);
  }
  return [...same.values()].flatMap((all) =>
    all.slice(0, 1).map(({ finding }) => {
      const engines = `${all.length === 1 ? 'engine' : 'engines'} ${all.map(({ engine }) => engine).join(', ')}`;
      return { ...finding, name: finding.name === '' ? engines : `${engines}: ${finding.name}` };
    }),
  );
}
