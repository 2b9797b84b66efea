import { parseArgs } from 'node:util';
import { measureAgents } from './agents.ts';
import { measureCold } from './cold.ts';
import { measureDashboard } from './dashboard-load.ts';
import { measureEngines } from './engines.ts';
import { measureFigures } from './figures.ts';
import { measureGrowth } from './growth.ts';
import { measureLongRun } from './long-run.ts';
import { measureOutput } from './output.ts';
import { measureOverhead } from './overhead.ts';
import { measurePaint } from './paint.ts';
import { measurePeers } from './peers.ts';
import { measureRestart } from './restart.ts';
import { measureReview } from './review.ts';
import { measureServices } from './services.ts';
import { measureSimulation } from './simulate.ts';
import { measureStart } from './start.ts';
import { measureThroughput } from './throughput.ts';
import { measureWarm } from './warm.ts';

const BENCHMARKS = {
  agents: measureAgents,
  cold: measureCold,
  dashboard: measureDashboard,
  engines: measureEngines,
  figures: measureFigures,
  growth: measureGrowth,
  'long-run': measureLongRun,
  output: measureOutput,
  overhead: measureOverhead,
  paint: measurePaint,
  peers: measurePeers,
  restart: measureRestart,
  review: measureReview,
  services: measureServices,
  simulate: measureSimulation,
  start: measureStart,
  throughput: measureThroughput,
  warm: measureWarm,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    // Of the benchmarks `growth` and `simulate`.
    share: { type: 'string' },
    // Of the benchmark `warm`.
    repository: { type: 'string' },
    setup: { type: 'string' },
    set: { type: 'string', multiple: true },
  },
});
const name = positionals[0] ?? 'overhead';
const benchmark = Object.entries(BENCHMARKS).find(([known]) => known === name)?.[1];
if (benchmark === undefined) {
  process.stderr.write(`no benchmark "${name}"; there is: ${Object.keys(BENCHMARKS).join(', ')}\n`);
  process.exit(2);
}
await benchmark({ ...values, rounds: Number(values.rounds) });
// Beyond a limit, with an exit code.
process.exit();
