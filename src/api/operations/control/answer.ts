import type { ControlResult } from '../../../core/run/control-result.ts';
import type { Operation } from '../operation.ts';
import { controlResultSchema } from '../schemas.ts';

type Input = { runId: string; story: string; text: string | undefined; option?: number | undefined };

export const answerOperation: Operation<Input, ControlResult> = {
  name: 'answer',
  method: 'POST',
  path: '/v1/runs/{runId}/answer',
  access: 'control',
  decides: true,
  summary:
    'Answers the question of a story that needs a human: it starts again, with question and answer in its prompt.',
  input: (z) =>
    z.strictObject({
      story: z.string().describe('Id of the story that asks.'),
      text: z.string().min(1).max(65_536).optional().describe('The answer, at most 8,000 characters.'),
      option: z.int().min(1).max(100).optional().describe('Instead: the number of an option of the question.'),
    }),
  example: { story: 'US-001', text: 'Use the port of the old service, 8080.' },
  output: { kind: 'json', schema: controlResultSchema },
  async run(context, { runId, story, text, option }) {
    const [{ openKeeper, openRequest }, { answerStory }] = await Promise.all([
      import('./control-request.ts'),
      import('../../../worker/control/answer-story.ts'),
    ]);
    return answerStory(openKeeper(context), await openRequest(context, runId), { storyId: story, text, option });
  },
};
