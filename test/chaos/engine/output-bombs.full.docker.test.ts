import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { ALL, belowLevel, FULL, LEVEL } from '../../support/suite/level.ts';
import { peakOf } from '../../support/faults/memory-of.ts';
import { NO_OP, openWorld, stopWorker, tidyUp } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';

/** In MiB. A program that writes each byte by itself is slow, however long it runs. */
const GATE = { fast: 300, slow: 4 };
const AGENT = LEVEL < ALL ? GATE : { fast: 5120, slow: 32 };

const LINE = 'x'.repeat(79);
const BOMBS: [string, (size: typeof GATE) => string][] = [
  ['in short lines', ({ fast }) => `yes ${LINE} | head -c ${fast}M`],
  ['without a line end', ({ fast }) => `head -c ${fast}M /dev/zero | tr '\\0' x; echo`],
  ['byte by byte', ({ slow }) => `head -c ${slow}M /dev/zero | tr '\\0' x | dd bs=1 status=none; echo`],
];

describe('hazard 15: endless output', skipFor(belowLevel(FULL)), () => {
  it.for(BOMBS)(
    '%s, of agent and gate: the memory of the worker does not grow',
    { timeout: 1_800_000 },
    async ([, bomb]) => {
      await print(bomb, `${2 * AGENT.fast}m`, { stopReason: 'SUCCESS', landed: ['A'] });
    },
  );

  it('beyond the limit: the attempt ends with that reason', async () => {
    const detail = await print(BOMBS[0]![1], '20m', { stopReason: 'ENGINE_ERROR', landed: [] });
    expect(detail).toContain('(limits.output)');
  });
});

interface Expected {
  stopReason: string;
  landed: string[];
}

/** Answers with the journal's last word on the story. */
async function print(
  bomb: (size: typeof GATE) => string,
  limit: string,
  { stopReason, landed }: Expected,
): Promise<string | undefined> {
  const world = openWorld();
  try {
    const repository = world.addRepository();
    const settings = [
      `agents.command.run=${JSON.stringify(`${bomb(AGENT)}; ${NO_OP}`)}`,
      `gates=${JSON.stringify([bomb(GATE)])}`,
      `limits.output="${limit}"`,
    ];
    const runId = await world.submit(repository, [{ id: 'A' }], settings);
    const worker = world.startWorker();
    await world.untilEnded(runId, 1_700_000);
    const peak = peakOf(worker.process.pid!);
    await stopWorker(worker);
    expect(peak, 'MiB of the worker').toBeLessThan(300);
    const ended = world.journal(runId).findLast((event) => event.type === 'story.ended');
    await tidyUp(world);
    await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed, stopReason }]);
    return ended?.summary;
  } finally {
    await world.close();
  }
}
