import { describe, expect, it } from 'vitest';
import { stoppable } from '../../../src/cli/run/run-until-signal.ts';

describe('work that a signal stops', () => {
  it.each([
    { signals: [], aborted: false, exits: [] },
    { signals: ['SIGINT'], aborted: true, exits: [] },
    { signals: ['SIGINT', 'SIGINT'], aborted: true, exits: [130] },
    { signals: ['SIGHUP', 'SIGTERM'], aborted: true, exits: [130] },
    // A terminal that is closed, by its signal and the ends of its streams: what was begun is cleaned up.
    { signals: ['SIGHUP', 'SIGHUP', 'SIGHUP'], aborted: true, exits: [] },
  ] as const)('$signals: aborted $aborted, left with $exits', async ({ signals, aborted, exits }) => {
    let listener: ((signal?: NodeJS.Signals) => void) | undefined;
    const left: number[] = [];
    const cli = {
      onStop(given: typeof listener) {
        listener = given;
        return () => (listener = undefined);
      },
      exitNow: (code: number) => void left.push(code),
    };
    const found = await stoppable(cli, (signal) => {
      for (const each of signals) listener?.(each);
      return Promise.resolve(signal.aborted);
    });
    expect(found).toBe(aborted);
    expect(left).toEqual(exits);
    expect(listener).toBeUndefined();
  });
});
