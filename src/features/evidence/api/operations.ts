import { operation } from '../../../api/operations/operation.ts';
import { replayedSchema } from './schemas.ts';

export const evidenceOperations = {
  replay: operation({
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
      schema: replayedSchema,
    },
    async run({ host, store, remote, caller, replayTurns }, { runId, story, attempt }, signal) {
      const { replayAttempt } = await import('./replay-attempt.ts');
      const which = { runId: await store.find(runId), storyId: story, ...(attempt !== undefined && { attempt }) };
      const replay = () => replayAttempt(host, { ...which, ...(signal && { signal }) });
      return remote ? replayTurns.run(caller?.name ?? '', replay, signal) : replay();
    },
  }),
};
