import type { JSX } from 'preact';
import { useAddressChoice } from '../../../web/page/address-query.ts';
import { ChoiceOfOne } from '../../../web/page/page-parts.tsx';

const DAY_MS = 86_400_000;
const PERIODS = [
  { value: '1', name: 'today' },
  { value: '7', name: '7 days' },
  { value: '30', name: '30 days' },
  { value: '90', name: '90 days' },
] as const;
/** A number of days, today included. */
export type Days = (typeof PERIODS)[number]['value'];

/** The period of a screen, which the address keeps. */
export function usePeriod(): [days: Days, choose: (days: Days) => void] {
  return useAddressChoice(
    'days',
    PERIODS.map(({ value }) => value),
    '7',
  );
}

export function Period({ days, onChange }: { days: Days; onChange: (days: Days) => void }): JSX.Element {
  return <ChoiceOfOne label="Period" options={PERIODS} value={days} onChange={onChange} />;
}

/** The days of a period in UTC, as `YYYY-MM-DD`, the oldest first. */
export function daysOf(days: Days, now: number): string[] {
  return Array.from({ length: Number(days) }, (_, index) =>
    new Date(now - (Number(days) - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
}

/** The start of the period, ISO 8601. */
export function startOf(days: Days, now: number): string {
  return `${daysOf(days, now)[0] ?? ''}T00:00:00.000Z`;
}
