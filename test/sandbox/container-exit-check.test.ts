import { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { expect, it } from 'vitest';
import { readExitEvents } from '../../src/sandbox/docker/container-exit-check.ts';

function engineThatSends(events: Iterable<string>): Pick<Docker, 'getEvents'> {
  const getEvents = () => Promise.resolve(Readable.from(events, { objectMode: false }));
  return { getEvents };
}

it('knows from the events of an engine whether it has recorded an exit, and sent a signal before', async () => {
  const event = (Action: string) => `${JSON.stringify({ Action })}\n`;
  expect(await readExitEvents(engineThatSends([event('kill'), event('die')]), 'x')).toEqual({ recorded: true, signalled: true }); // prettier-ignore
  expect(await readExitEvents(engineThatSends([event('die')]), 'x')).toEqual({ recorded: true, signalled: false });
});

it('reads no more of an engine that sends events without end than 256 can have', async () => {
  let pieces = 0;
  const endless = function* () {
    for (const piece = ' '.repeat(64 * 1024); ; pieces += 1) yield piece;
  };
  expect(await readExitEvents(engineThatSends(endless()), 'x')).toEqual({ recorded: false, signalled: false });
  expect(pieces).toBeLessThan(100);
});
