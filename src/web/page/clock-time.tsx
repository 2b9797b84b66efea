import type { JSX } from 'preact';
import { ageText } from '../../view/ages.ts';

const DAY = { day: 'numeric', month: 'short', year: 'numeric' } as const;

/** A time of day of the person who looks at the page; with `date` also the day. UTC is in its title. */
export function ClockTime({ at, date = false }: { at: string; date?: boolean }): JSX.Element {
  return (
    <time dateTime={at} title={inUtc(at)}>
      {date && `${formatDay(at)}, `}
      {formatClock(at)}
    </time>
  );
}

/** How long ago something was, as of `now`, both in ISO 8601, or its date. The time is in its title. */
export function Age({ at, now }: { at: string; now: string }): JSX.Element {
  return (
    <time dateTime={at} title={`${formatDay(at)}, ${formatClock(at)} (${inUtc(at)})`}>
      {ageText(at, now, formatDay)}
    </time>
  );
}

function inUtc(at: string): string {
  return `${at.slice(0, 19).replace('T', ' ')} UTC`;
}

/** From one time to another, with the days. */
export function ClockRange({ from, to }: { from: string; to: string }): JSX.Element {
  return (
    <span>
      <ClockTime at={from} date /> – <ClockTime at={to} date={formatDay(from) !== formatDay(to)} />
    </span>
  );
}

/** Says once for a page in which time zone its times are. */
export function TimeZoneNote(): JSX.Element {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <p class="zone soft">
      {zone === 'UTC' ? 'Times are in UTC.' : `Times are yours (${zone}); budgets count days in UTC.`}
    </p>
  );
}

/** `03:12:09`, in the time zone of the browser. */
export function formatClock(at: string | number): string {
  return new Date(at).toTimeString().slice(0, 8);
}

/** A day in UTC, `YYYY-MM-DD`, in the form of all screens; beside other days, the year can be left out. */
export function formatUtcDay(day: string, withYear = true): string {
  const { year, ...short } = DAY;
  return new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', {
    ...short,
    ...(withYear && { year }),
    timeZone: 'UTC',
  });
}

function formatDay(at: string): string {
  return new Date(at).toLocaleDateString('en-GB', DAY);
}
