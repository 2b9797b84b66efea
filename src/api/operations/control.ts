import { HaloError } from '../../core/failure/errors.ts';
import type { MessageResult } from '../../core/run/message-target.ts';
import { operation, type Schema } from './operation.ts';
import {
  confirmationSchema,
  controlResultSchema,
  decisionSchema,
  landedSchema,
  prdSchema,
  settingsSchema,
  storySchema,
} from './schemas.ts';

const messageResultSchema: Schema<MessageResult> = (z) =>
  z.object({
    runId: z.string(),
    changed: z.boolean().describe('False: the story has this message already, and no agent has seen it.'),
    stories: z.array(z.string()).describe('The id of the story.'),
    says: z.string().describe('Where the message goes, as a sentence.'),
    message: z.string().describe('Its id: `messages` of the story in `getRun` show what has become of it.'),
    route: z
      .enum(['live', 'after', 'prompt', 'next'])
      .describe(
        'To the agent that works, in its turn or after it; or into a prompt: of the attempt that has begun, or of the next one.',
      ),
    owner: z.string().exactOptional(),
    warnings: z.array(z.string()).exactOptional(),
  });

export const controlOperations = {
  pause: operation({
    method: 'POST',
    path: '/v1/runs/{runId}/pause',
    access: 'control',
    summary: 'Starts no more stories; with `now`, also interrupts running ones, without using up an attempt.',
    input: (z) => z.strictObject({ now: z.boolean() }),
    example: { now: false },
    output: { kind: 'json', schema: controlResultSchema },
    tool: {
      title: 'Pause a run',
      idempotent: true,
      input: (z) =>
        z.strictObject({
          now: z.boolean().default(false).describe('Also interrupt running stories, without using up an attempt.'),
        }),
    },
    async run(context, { runId, now }) {
      const [{ openKeeper, openRequest }, { pauseRun }] = await Promise.all([
        import('./control-request.ts'),
        import('../../worker/control/control-run.ts'),
      ]);
      return pauseRun(openKeeper(context), await openRequest(context, runId), now);
    },
  }),
  resume: operation({
    method: 'POST',
    path: '/v1/runs/{runId}/resume',
    access: 'control',
    inspects: true,
    summary: 'Continues a paused run. With `replan`, continues any run with the current PRD, or with the given one.',
    input: (z) =>
      z.strictObject({ replan: z.strictObject({ prd: prdSchema(z).optional() }).optional(), ...settingsSchema(z) }),
    example: { set: ['limits.idle=20m'] },
    output: { kind: 'json', schema: controlResultSchema },
    tool: {
      title: 'Resume a paused run',
      description: 'Continues a paused run. Call it only if the user wants that. Settings and PRD stay the same.',
      idempotent: true,
      input: (z) => z.strictObject({}),
    },
    async run(context, { runId, replan, ...settings }) {
      const [{ openKeeper, openRequest, withWarnings }, { replanRun, resumeUnchanged }] = await Promise.all([
        import('./control-request.ts'),
        import('../../worker/control/replan-run.ts'),
      ]);
      const keeper = openKeeper(context);
      const request = await openRequest(context, runId, settings);
      if (replan === undefined) {
        const owned = await context.claim(request.runId);
        return { ...(await withWarnings(context, await resumeUnchanged(keeper, request))), ...owned };
      }
      // The path of a PRD from another machine is not valid here: the run keeps its own.
      const sent = context.remote ? { remote: true as const } : {};
      return replanRun(keeper, request, replan.prd && { ...replan.prd, ...sent });
    },
  }),
  cancel: operation({
    method: 'POST',
    path: '/v1/runs/{runId}/cancel',
    access: 'control',
    decides: true,
    summary: 'Cancels a run, or one of its stories. Nothing of it lands afterwards.',
    input: (z) => z.strictObject(storySchema(z)),
    example: { story: 'US-001' },
    output: { kind: 'json', schema: controlResultSchema },
    tool: { title: 'Cancel a run or a story', idempotent: true },
    async run(context, { runId, story }) {
      const [{ openKeeper, openRequest }, { cancelRun, cancelStory }] = await Promise.all([
        import('./control-request.ts'),
        import('../../worker/control/control-run.ts'),
      ]);
      const request = await openRequest(context, runId);
      return story === undefined
        ? cancelRun(openKeeper(context), request)
        : cancelStory(openKeeper(context), request, story);
    },
  }),
  retry: operation({
    method: 'POST',
    path: '/v1/runs/{runId}/retry',
    access: 'control',
    inspects: true,
    summary: 'Retries the stories that failed, were cancelled or need a human, or one story, with new attempts.',
    input: (z) =>
      z.strictObject({
        ...storySchema(z),
        ...settingsSchema(z),
        newTests: z
          .boolean()
          .optional()
          .describe('Writes the tests of tests first again, instead of those that an earlier attempt has locked.'),
      }),
    example: { story: 'US-001', set: ['limits.idle=20m'] },
    output: { kind: 'json', schema: controlResultSchema },
    tool: {
      title: 'Retry failed stories',
      description:
        'Retries failed and cancelled stories, or one story, with fresh attempts. It costs as much as before: read the reason of the failure first. Settings stay the same.',
      input: (z) => z.strictObject(storySchema(z)),
    },
    async run(context, { runId, story, newTests = false, ...settings }) {
      const [{ openKeeper, openRequest, withWarnings }, { retryRun }] = await Promise.all([
        import('./control-request.ts'),
        import('../../worker/control/control-run.ts'),
      ]);
      const request = await openRequest(context, runId, settings);
      const owned = await context.claim(request.runId);
      const result = await retryRun(openKeeper(context), { ...request, newTests }, story);
      return { ...(await withWarnings(context, result)), ...owned };
    },
  }),
  answer: operation({
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
    tool: { title: 'Answer a question', when: 'Only with what the user said.', idempotent: true },
    async run(context, { runId, story, text, option }) {
      const [{ openKeeper, openRequest }, { answerStory }] = await Promise.all([
        import('./control-request.ts'),
        import('../../worker/control/answer-story.ts'),
      ]);
      return answerStory(openKeeper(context), await openRequest(context, runId), { storyId: story, text, option });
    },
  }),
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
    output: { kind: 'json', schema: messageResultSchema },
    tool: { title: 'Send a message to an agent', when: 'Only with what the user said.', idempotent: true },
    async run(context, { runId, story, text }) {
      const [{ openKeeper }, { sendMessage }] = await Promise.all([
        import('./control-request.ts'),
        import('../../worker/control/send-message.ts'),
      ]);
      const found = await context.store.find(runId);
      return sendMessage(openKeeper(context), { runId: found, by: context.by, story, text });
    },
  }),
  approve: operation({
    method: 'POST',
    path: '/v1/runs/{runId}/approve',
    access: 'operate',
    decides: true,
    summary:
      'Approves the commit of a story that is waiting for approval, or without `story` the result of an ended run. What it is flagged for must be in `confirm`.',
    input: (z) => z.strictObject({ ...storySchema(z), ...confirmationSchema(z) }),
    example: { story: 'US-001', confirm: ['protected'] },
    output: { kind: 'json', schema: decisionSchema },
    tool: {
      title: 'Approve a story or a run',
      when: 'Only if the user has seen the diff and said so, also to each flag in `confirm`.',
      idempotent: true,
    },
    async run(context, { runId, story, ...confirmation }) {
      const [{ assertMayApprove, openKeeper, openRequest }, { approveStory }, { approveRun }] = await Promise.all([
        import('./control-request.ts'),
        import('../../worker/control/approve.ts'),
        import('../../worker/control/approve.ts'),
      ]);
      const request = await openRequest(context, runId);
      await assertMayApprove(context, request.runId);
      return story === undefined
        ? approveRun(openKeeper(context), { runId: request.runId, by: request.by, confirmation })
        : approveStory(openKeeper(context), { ...request, storyId: story, confirmation });
    },
  }),
  reject: operation({
    method: 'POST',
    path: '/v1/runs/{runId}/reject',
    access: 'operate',
    decides: true,
    summary:
      'Rejects the commit of a story that waits for approval, or without `story` the result of a run that has ended. With `feedback` or `comments`, the story is started again with them in its prompt instead; then its commit may also have landed on the branch of the run.',
    input: (z) =>
      z.strictObject({
        ...storySchema(z),
        reason: z.string().optional().describe('Why, for the record.'),
        feedback: z
          .string()
          .max(65_536)
          .optional()
          .describe('What to change, at most 8,000 characters. Needs `story`.'),
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
    tool: { title: 'Reject a story or a run', when: 'Only if the user said so.', idempotent: true },
    async run(context, { runId, story, reason, feedback, comments }) {
      const [{ openKeeper, openRequest }, { rejectStory }, { rejectRun }, { giveFeedback }] = await Promise.all([
        import('./control-request.ts'),
        import('../../worker/control/approve.ts'),
        import('../../worker/control/approve.ts'),
        import('../../worker/control/give-feedback.ts'),
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
  }),
  land: operation({
    method: 'POST',
    path: '/v1/runs/{runId}/land',
    access: 'operate',
    decides: true,
    summary:
      'Fast-forwards the branch from which the run started, or pushes the branch of the run to a URL. What the run is flagged for must be in `confirm`.',
    input: (z) => z.strictObject(confirmationSchema(z)),
    example: { confirm: ['secret'] },
    output: { kind: 'json', schema: landedSchema },
    tool: {
      title: 'Land a run',
      when: 'Only if the user said so, also to each flag in `confirm`.',
      idempotent: true,
    },
    async run({ host, store, by }, { runId, ...confirmation }) {
      const { landRun } = await import('../../worker/run/land-run.ts');
      return landRun(store, host.home, { runId: await store.find(runId), by, confirmation });
    },
  }),
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
