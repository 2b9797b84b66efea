import { operation, type Schema } from '../../../api/operations/operation.ts';
import type { Told } from '../../../core/run/told.ts';

const toldSchema: Schema<Told> = (z) =>
  z.object({
    runId: z.string(),
    changed: z.boolean().describe('False: the story has this message already, and no agent has seen it.'),
    stories: z.array(z.string()).describe('The id of the story.'),
    says: z.string().describe('Where the message goes, as a sentence.'),
    message: z.string().describe('Its id: `messages` of the story in `getRun` show what has become of it.'),
    route: z
      .enum(['live', 'prompt', 'next'])
      .describe('To the agent that works, or into a prompt: of the attempt that has begun, or of the next one.'),
    owner: z.string().exactOptional(),
    warnings: z.array(z.string()).exactOptional(),
  });

export const tellOperations = {
  tell: operation({
    method: 'POST',
    path: '/v1/runs/{runId}/tell',
    access: 'control',
    decides: true,
    summary:
      'Sends a message to the agent of a story: to the one that works, if it takes messages, otherwise into its next prompt.',
    input: (z) =>
      z.strictObject({
        story: z.string().optional().describe('Id of a story; absent: the only one that can get the message.'),
        text: z.string().min(1).max(65_536).describe('The message, at most 8,000 characters.'),
      }),
    example: { story: 'US-001', text: 'Use the port of the old service, 8080.' },
    output: { kind: 'json', schema: toldSchema },
    tool: { title: 'Send a message to an agent', when: 'Only with what the user said.', idempotent: true },
    async run(context, { runId, story, text }) {
      const [{ openKeeper }, { sendMessage }] = await Promise.all([
        import('../../../api/operations/control-request.ts'),
        import('../worker/send-message.ts'),
      ]);
      const found = await context.store.find(runId);
      return sendMessage(openKeeper(context), { runId: found, by: context.by, story, text });
    },
  }),
};
