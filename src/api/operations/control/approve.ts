import type { RunDecisionResult, StoryDecisionResult } from '../../../core/run/control-result.ts';
import type { Operation } from '../operation.ts';
import type { Confirmation } from '../../../core/review/flags.ts';
import { confirmationSchema, decisionSchema, storySchema } from '../schemas.ts';

type Input = { runId: string; story?: string } & Confirmation;

export const approveOperation: Operation<Input, StoryDecisionResult | RunDecisionResult> = {
  name: 'approve',
  method: 'POST',
  path: '/v1/runs/{runId}/approve',
  access: 'operate',
  decides: true,
  summary:
    'Approves the commit of a story that is waiting for approval, or without `story` the result of an ended run. What it is flagged for must be in `confirm`.',
  input: (z) => z.strictObject({ ...storySchema(z), ...confirmationSchema(z) }),
  example: { story: 'US-001', confirm: ['protected'] },
  output: { kind: 'json', schema: decisionSchema },
  async run(context, { runId, story, ...confirmation }) {
    const [{ assertMayApprove, openKeeper, openRequest }, { approveStory }, { approveRun }] = await Promise.all([
      import('./control-request.ts'),
      import('../../../worker/control/approve-story.ts'),
      import('../../../worker/control/approve-run.ts'),
    ]);
    const request = await openRequest(context, runId);
    await assertMayApprove(context, request.runId);
    return story === undefined
      ? approveRun(openKeeper(context), { runId: request.runId, by: request.by, confirmation })
      : approveStory(openKeeper(context), { ...request, storyId: story, confirmation });
  },
};
