import {
  COUNTERS,
  DURATION_BUCKETS,
  labelsOf,
  type CounterName,
  type Histogram,
  type MetricTotals,
} from './metric-totals.ts';

/** A value that is measured when it is asked for. */
export interface Gauge {
  /** Without the prefix `halo_`. */
  name: string;
  help: string;
  values: readonly { labels?: Readonly<Record<string, string>>; value: number }[];
}

/** The text format of Prometheus, 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats */
export function toExposition(totals: MetricTotals, gauges: readonly Gauge[]): string {
  const lines: string[] = [];
  const begin = (name: string, type: string, help: string) =>
    lines.push(`# HELP halo_${name} ${help}`, `# TYPE halo_${name} ${type}`);
  const sample = (name: string, labels: Readonly<Record<string, string>>, value: number) =>
    lines.push(`halo_${name}${labelText(labels)} ${value}`);
  for (const { name, help, values } of gauges) {
    begin(name, 'gauge', help);
    for (const { labels = {}, value } of values) sample(name, labels, value);
  }
  for (const [name, { labels, help }] of Object.entries(COUNTERS)) {
    begin(name, 'counter', help);
    const series = totals.counters[name as CounterName] ?? {};
    // A counter without labels begins at 0, so that its first increase is seen.
    if (labels.length === 0 && Object.keys(series).length === 0) sample(name, {}, 0);
    for (const key of Object.keys(series).sort()) {
      const values = labelsOf(key);
      sample(name, Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ''])), series[key] ?? 0);
    }
  }
  const histograms = (name: string, label: string, help: string, values: Readonly<Record<string, Histogram>>) => {
    begin(name, 'histogram', help);
    for (const value of Object.keys(values).sort()) {
      const { count = 0, sum = 0, buckets = [] } = values[value] ?? {};
      DURATION_BUCKETS.forEach((limit, index) =>
        sample(`${name}_bucket`, { [label]: value, le: String(limit) }, buckets[index] ?? 0),
      );
      sample(`${name}_bucket`, { [label]: value, le: '+Inf' }, count);
      sample(`${name}_sum`, { [label]: value }, sum);
      sample(`${name}_count`, { [label]: value }, count);
    }
  };
  histograms('phase_duration_seconds', 'phase', 'Durations of the phases of attempts.', totals.phases);
  histograms(
    'queue_wait_seconds',
    'reason',
    'How long stories were ready before a worker started them.',
    totals.waits ?? {},
  );
  return `${lines.join('\n')}\n`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeValue(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
}
