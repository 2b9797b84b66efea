import type { GivenComment } from '../../../worker/control/quote-comments.ts';
import type { RunDecisionResult, StoryDecisionResult } from '../../../core/run/control-result.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import type { Operation } from '../operation.ts';
import { decisionSchema, storySchema } from '../schemas.ts';

type Input = { runId: string; story?: string; reason: string | undefined } & Partial<FeedbackInput>;

/** What the next attempt at the story has to change. */
export interface FeedbackInput {
  feedback: string | undefined;
  comments: GivenComment[] | undefined;
}

export const rejectOperation: Operation<Input, StoryDecisionResult | RunDecisionResult> = {
  name: 'reject',
  method: 'POST',
  path: '/v1/runs/{runId}/reject',
  access: 'operate',
  decides: true,
  summary:
    'Rejects the commit of a story that waits for approval, or without `story` the result of a run that has ended. With `feedback` or `comments`, the story is started again with them in its prompt instead; then its commit may also have landed on the branch of the run.',
  input: (z) =>
    z.strictObject({
      ...storySchema(z),
      reason: z.string().optional(),
      feedback: z.string().max(65_536).optional().describe('What to change, at most 8,000 characters. Needs `story`.'),
      comments: z
        .array(
          z.strictObject({
            path: z.string().min(1).max(4096).describe('A file of the commit.'),
            side: z.enum(['new', 'old']).default('new').describe('`old`: the file before the commit.'),
            line: z.int().min(1).optional().describe('From 1; absent: the whole file.'),
            endLine: z.int().min(1).optional().describe('The last line; absent: the same line.'),
            text: z.string().min(1).max(65_536).describe('At most 4,000 characters.'),
          }),
        )
        .max(50)
        .optional()
        .describe('Comments on lines of the diff. halo adds the lines. Needs `story`.'),
    }),
  example: { story: 'US-001', reason: 'The API must not change.' },
  output: { kind: 'json', schema: decisionSchema },
  async run(context, { runId, story, reason, feedback, comments }) {
    const [{ openKeeper, openRequest }, { rejectStory }, { rejectRun }, { giveFeedback }] = await Promise.all([
      import('./control-request.ts'),
      import('../../../worker/control/approve-story.ts'),
      import('../../../worker/control/approve-run.ts'),
      import('../../../worker/control/give-feedback.ts'),
    ]);
    const request = await openRequest(context, runId);
    if (feedback !== undefined || comments !== undefined) {
      const storyId = requireStory({ story, reason });
      return giveFeedback(openKeeper(context), request, { storyId, text: feedback, comments });
    }
    return story === undefined
      ? rejectRun(openKeeper(context), request.runId, { by: request.by, reason })
      : rejectStory(openKeeper(context), { ...request, storyId: story, reason });
  },
};

/** Throws USAGE unless the feedback is about a story, and nothing is rejected for good. */
function requireStory({ story, reason }: { story: string | undefined; reason: string | undefined }): string {
  if (story !== undefined && reason === undefined) return story;
  const why =
    story === undefined
      ? 'is about the commit of one story'
      : 'starts the story again, a reason ends it: use one of them';
  throw new HaloError('USAGE', `Feedback ${why}.`, { hint: 'Name the story with --story.' });
}
