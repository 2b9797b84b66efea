import type { Replayed } from '../requests.ts';
import type { Operation } from '../operation.ts';

interface Input {
  runId: string;
  story: string;
  attempt: number | undefined;
}

export const replayOperation: Operation<Input, Replayed> = {
  name: 'replay',
  method: 'POST',
  path: '/v1/runs/{runId}/replay',
  access: 'control',
  endsWithRequest: true,
  summary:
    'Repeats an attempt, by default the last one of a story, with the recorded responses of its model. Nothing lands. A server repeats one attempt at a time, and one of each user; it ends with the request.',
  input: (z) => z.strictObject({ story: z.string(), attempt: z.number().int().positive().optional() }),
  example: { story: 'US-001' },
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        story: z.string(),
        attempt: z.number().int(),
        image: z.string(),
        divergence: z.string().optional().describe('The first request of the agent that differed.'),
        checks: z.array(
          z.object({
            what: z.string(),
            recorded: z.string(),
            found: z.string(),
            ok: z.boolean().nullable().describe('null: informative only.'),
          }),
        ),
      }),
  },
  async run({ host, store, remote, caller, replayTurns }, { runId, story, attempt }, signal) {
    const { replayAttempt } = await import('../../runs/replay-attempt.ts');
    const which = { runId: await store.find(runId), storyId: story, ...(attempt !== undefined && { attempt }) };
    const replay = () => replayAttempt(host, { ...which, ...(signal && { signal }) });
    return remote ? replayTurns.run(caller?.name ?? '', replay, signal) : replay();
  },
};
