import { ClockTime } from '../page/clock-time.tsx';
import type { JSX } from 'preact';
import type { Finding } from '../../api/doctor/doctor-finding.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { EmptyState, Problem } from '../page/page-parts.tsx';
import { readJson, useLoaded } from '../page/read-server.ts';

const MARKS = {
  ok: { sign: '✓', tone: 'good', name: 'ready' },
  warn: { sign: '!', tone: 'warn', name: 'warning' },
  fail: { sign: '✗', tone: 'bad', name: 'problem' },
};

/** The checks of the machine of the server, those with problems first. */
export function DoctorList(): JSX.Element {
  const { value, problem } = useLoaded('doctor', () =>
    readJson<{ at: string; findings: Finding[]; skipped: string[] }>('/v1/doctor'),
  );
  const order = ['fail', 'warn', 'ok'];
  const findings = [...(value?.findings ?? [])].sort((a, b) => order.indexOf(a.ok) - order.indexOf(b.ok));
  return (
    <section aria-label="Checks of the server">
      <h2>Checks</h2>
      {problem !== undefined && <Problem problem={problem} />}
      {value === undefined && problem === undefined && <EmptyState title="Checking the server …" />}
      {value !== undefined && (
        <>
          <ul class="checks">
            {findings.map(({ name, ok, says, fix }) => (
              <li key={`${name} ${says}`}>
                <span class={MARKS[ok].tone} role="img" aria-label={MARKS[ok].name}>
                  {MARKS[ok].sign}
                </span>
                <strong>{name}</strong>
                <span>{safeText(says)}</span>
                {fix !== undefined && <p class="soft">→ {safeText(fix)}</p>}
              </li>
            ))}
          </ul>
          <p class="soft">
            Checked at <ClockTime at={value.at} />. <code>halo doctor</code> on the server also checks{' '}
            {value.skipped.join(', ')}.
          </p>
        </>
      )}
    </section>
  );
}
