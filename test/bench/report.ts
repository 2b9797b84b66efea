/** One round, in ms a story. */
export interface Measure {
  halo: number;
  floor: number;
  ratio: number;
}

export interface Report {
  name: string;
  measures: Measure[];
  /** The median over the rounds. */
  ratio: number;
  /** What the ratio should not exceed. */
  limit: number;
  json: boolean;
  /** Of the measures; default: ms. */
  unit?: string;
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/**
 * A table for people, or one JSON object. Times are of this machine and moment; only the ratio means something. Beyond the
 * limit, the process will exit with 1.
 */
export function print({ name, measures, ratio, limit, json, unit = 'ms' }: Report): void {
  if (!(ratio <= limit)) process.exitCode = 1;
  if (json) return void process.stdout.write(`${JSON.stringify({ name, ratio, limit, rounds: measures })}\n`);
  const line = (...cells: string[]) => `${cells.map((cell) => cell.padStart(10)).join('')}\n`;
  const row = (label: string, { halo, floor, ratio }: Measure) =>
    line(label, `${halo.toFixed(0)} ${unit}`, `${floor.toFixed(0)} ${unit}`, ratio.toFixed(2));
  process.stdout.write(line('round', 'halo', 'floor', 'ratio'));
  measures.forEach((measure, index) => process.stdout.write(row(String(index + 1), measure)));
  const middle = { halo: median(measures.map((m) => m.halo)), floor: median(measures.map((m) => m.floor)), ratio };
  process.stdout.write(row('median', middle));
  process.stdout.write(`${name}: ratio ${ratio.toFixed(2)}, at most ${limit.toFixed(limit < 1 ? 2 : 1)} wanted\n`);
}

/** Says on stderr what the benchmark does now, because a round can take minutes. The first ones may only warm caches. */
export function showRound(round: number, rounds: number, what?: string): void {
  const name = round < 0 ? 'warm-up' : `round ${round + 1} of ${rounds}`;
  process.stderr.write(`${name}${what === undefined ? '' : `: ${what}`}\n`);
}
