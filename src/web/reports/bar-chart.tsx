import type { JSX } from 'preact';

interface BarChartProps {
  /** What the bars show, for screen readers. */
  label: string;
  bars: readonly { key: string; value: number; text: string }[];
}

const HEIGHT = 140;
const STEP = 20;

/** Values as bars. The table beside it has the same figures. */
export function BarChart({ label, bars }: BarChartProps): JSX.Element {
  const most = Math.max(0, ...bars.map(({ value }) => value));
  const first = bars[0]?.key ?? '';
  const last = bars.at(-1)?.key ?? '';
  const width = bars.length * STEP;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {bars.map(({ key, value, text }, index) => {
          const height = most === 0 ? 0 : (value / most) * (HEIGHT - 4);
          return (
            <rect key={key} x={index * STEP + 2} y={HEIGHT - height} width={STEP - 4} height={height} rx={2}>
              <title>{`${key}: ${text}`}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption class="soft">
        <span>{first}</span>
        <span>{last}</span>
      </figcaption>
    </figure>
  );
}
