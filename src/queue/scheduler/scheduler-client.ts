import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { JOB_NAME, queueName, type StoryJob } from '../job.ts';
import { openTurns, type Answer, type Entry, type Question, type Turns, type TurnsOptions } from '../turns.ts';

/** Jobs that wait for their turn, and the queues of those that have it. */
export interface Dispatch {
  /** Tells what happened, and hands the jobs whose turn it is now to the workers. */
  tell(question: () => Question): Promise<Answer>;
  list: Turns['list'];
  /** The queue of a lane; '' is that of all workers without one. */
  queueOf(lane: string): Queue<StoryJob>;
  close(): Promise<void>;
}

const DAY_S = 86_400;
/** How often a job is tried again after an infrastructure fault, with growing pauses. */
const TRIES = 4;
const FIRST_PAUSE_MS = 2000;

/** Jobs wait in Redis, outside the queue: only those that a worker can take at once are in it, so that none blocks another. */
export function openDispatch(connection: Redis, options: TurnsOptions): Dispatch {
  const { prefix } = options;
  const turns = openTurns(connection, options);
  const lanes = new Map<string, Queue<StoryJob>>();
  const queueOf = (lane: string) => {
    const open = lanes.get(lane);
    if (open !== undefined) return open;
    const queue = new Queue<StoryJob>(queueName(lane), { connection, prefix, skipVersionCheck: true });
    queue.on('error', () => undefined);
    lanes.set(lane, queue);
    // One that was opened while Redis did not answer stays unusable.
    queue.waitUntilReady().catch(() => lanes.delete(lane));
    return queue;
  };
  return {
    queueOf,
    list: () => turns.list(),
    async tell(question) {
      const answer = await turns.ask(question);
      for (const { id, entry } of answer.turns) await add(queueOf(entry.lane), id, entry);
      return answer;
    },
    async close() {
      for (const queue of lanes.values()) await queue.close().catch(() => undefined);
    },
  };
}

async function add(queue: Queue<StoryJob>, jobId: string, { runId, ordinal }: Entry): Promise<void> {
  const old = await queue.getJob(jobId);
  // A job that ended would swallow a new one of the same id, and what is still to do only the journal knows.
  if (old !== undefined && ((await old.isFailed()) || (await old.isCompleted()))) await old.remove();
  await queue.add(
    JOB_NAME,
    { runId, ordinal },
    {
      jobId,
      attempts: TRIES,
      backoff: { type: 'exponential', delay: FIRST_PAUSE_MS },
      removeOnComplete: { age: 7 * DAY_S, count: 5000 },
      removeOnFail: { age: 30 * DAY_S },
    },
  );
}
