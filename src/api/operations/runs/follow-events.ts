import type { JournalEvent } from '../../../core/journal/events.ts';
import type { Operation } from '../operation.ts';
import { flagSchema } from '../schemas.ts';

interface Input {
  runId: string;
  /** Only events after this `seq`. */
  after: number;
  follow: boolean;
}

interface Frame {
  event: JournalEvent;
}

export const followEventsOperation: Operation<Input, AsyncIterable<Frame>> = {
  name: 'followEvents',
  method: 'GET',
  path: '/v1/runs/{runId}/events',
  access: 'read',
  summary: 'Streams the events of the journal after a `seq`, with `follow` until the run ends.',
  input: (z) =>
    z.strictObject({
      after: z.coerce.number().int().min(0).default(0),
      follow: flagSchema(z),
    }),
  example: { after: 0, follow: true },
  output: {
    kind: 'stream',
    schema: (z) =>
      z.object({
        event: z.looseObject({ v: z.number(), seq: z.number().int(), at: z.string(), type: z.string() }),
      }),
    resume: ({ event }: Frame) => ({ after: event.seq }),
  },
  async run({ store }, { runId, after, follow }, signal) {
    return toFrames(store.follow(await store.find(runId), { after, follow, ...(signal && { signal }) }));
  },
};

async function* toFrames(events: AsyncIterable<JournalEvent>): AsyncGenerator<Frame> {
  for await (const event of events) yield { event };
}
