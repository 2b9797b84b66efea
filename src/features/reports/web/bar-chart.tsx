import type { JSX } from 'preact';
import { formatUtcDay } from '../../../web/page/clock-time.tsx';

interface BarChartProps {
  /** What the bars show, with the values: screen readers do not read the bars. */
  label: string;
  /** A value for each day (`YYYY-MM-DD`), and what it is in words. */
  bars: readonly { key: string; value: number; text: string }[];
}

/** More bars have their days and values only when one points at them. */
const MAX_LABELLED = 7;

/** Values of days as bars. The table below it can have the same figures. */
export function BarChart({ label, bars }: BarChartProps): JSX.Element {
  const most = Math.max(0, ...bars.map(({ value }) => value));
  const labelled = bars.length <= MAX_LABELLED;
  const named = bars.filter((_, index) => labelled || index === 0 || index === bars.length - 1);
  return (
    <figure class="chart">
      <div class="day-bars" role="img" aria-label={label}>
        {bars.map(({ key, value, text }) => (
          <div key={key} class="day-bar" title={`${formatUtcDay(key, false)}: ${text}`}>
            {labelled && <span class="soft">{text}</span>}
            <span class="day-fill" style={{ height: `${most === 0 ? 0 : (100 * value) / most}%` }} />
          </div>
        ))}
      </div>
      <figcaption class={labelled ? 'soft day-names' : 'soft'}>
        {named.map(({ key }) => (
          <span key={key}>{formatUtcDay(key, false)}</span>
        ))}
      </figcaption>
    </figure>
  );
}
