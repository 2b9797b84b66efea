import type { RunDecisionResult, StoryDecisionResult } from '../../../core/run/control-result.ts';
import type { Operation } from '../operation.ts';
import { decisionSchema, storySchema } from '../schemas.ts';

type Input = { runId: string; story?: string };

export const approveOperation: Operation<Input, StoryDecisionResult | RunDecisionResult> = {
  name: 'approve',
  method: 'POST',
  path: '/v1/runs/{runId}/approve',
  access: 'operate',
  decides: true,
  summary:
    'Approves the commit of a story that is waiting for approval, or without `story` the result of an ended run.',
  input: (z) => z.strictObject(storySchema(z)),
  example: { story: 'US-001' },
  output: { kind: 'json', schema: decisionSchema },
  async run(context, { runId, story }) {
    const [{ assertMayApprove, openKeeper, openRequest }, { approveStory }, { approveRun }] = await Promise.all([
      import('./control-request.ts'),
      import('../../../worker/control/approve-story.ts'),
      import('../../../worker/control/approve-run.ts'),
    ]);
    const request = await openRequest(context, runId);
    await assertMayApprove(context, request.runId);
    return story === undefined
      ? approveRun(openKeeper(context), request.runId, request.by)
      : approveStory(openKeeper(context), { ...request, storyId: story });
  },
};
