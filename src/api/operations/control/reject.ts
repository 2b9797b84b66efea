import type { RunDecisionResult, StoryDecisionResult } from '../../../core/run/control-result.ts';
import type { Operation } from '../operation.ts';
import { decisionSchema, storySchema } from '../schemas.ts';

type Input = { runId: string; story?: string; reason: string | undefined };

export const rejectOperation: Operation<Input, StoryDecisionResult | RunDecisionResult> = {
  name: 'reject',
  method: 'POST',
  path: '/v1/runs/{runId}/reject',
  access: 'operate',
  decides: true,
  summary:
    'Rejects the commit of a story that waits for approval, or without `story` the result of a run that has ended.',
  input: (z) => z.strictObject({ ...storySchema(z), reason: z.string().optional() }),
  example: { story: 'US-001', reason: 'The API must not change.' },
  output: { kind: 'json', schema: decisionSchema },
  async run(context, { runId, story, reason }) {
    const [{ openKeeper, openRequest }, { rejectStory }, { rejectRun }] = await Promise.all([
      import('./control-request.ts'),
      import('../../../worker/control/approve-story.ts'),
      import('../../../worker/control/approve-run.ts'),
    ]);
    const request = await openRequest(context, runId);
    return story === undefined
      ? rejectRun(openKeeper(context), request.runId, { by: request.by, reason })
      : rejectStory(openKeeper(context), { ...request, storyId: story, reason });
  },
};
