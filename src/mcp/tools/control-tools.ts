import * as z from 'zod';
import {
  answerOperation,
  approveOperation,
  cancelOperation,
  pauseOperation,
  rejectOperation,
  resumeOperation,
  retryOperation,
  landOperation,
  requestPullOperation,
} from '../../api/operations/control.ts';
import { landedSchema } from '../../api/operations/schemas.ts';
import { defineTool, fieldOf, outputOf, RUN_REFERENCE, type Tool } from '../tool.ts';

const NOW = z.boolean().default(false).describe('Also interrupt running stories, without using up an attempt.');

/** What the user has confirmed of the change. */
const CONFIRMATION = { confirm: fieldOf(approveOperation, 'confirm'), commit: fieldOf(approveOperation, 'commit') };

/** A decision on a story or on a run; MCP needs an object as the output. */
const decided = z.object({
  story: z.string().optional(),
  runId: z.string().optional(),
  changed: z.boolean().describe('False: it already had this decision.'),
  commit: z.string().optional(),
  tip: z.string().optional(),
  landed: z.union([z.boolean(), landedSchema(z)]).optional(),
  goesOn: z.boolean().optional().describe('Whether a worker has something left to do.'),
});

/** Tools that change a run. Those whose operation decides are offered only if `[mcp] decide` is set. */
export const CONTROL_TOOLS: readonly Tool[] = [
  defineTool({
    name: 'halo_pause',
    title: 'Pause a run',
    description: pauseOperation.summary,
    uses: [pauseOperation],
    idempotent: true,
    input: z.strictObject({ runId: RUN_REFERENCE, now: NOW }),
    output: outputOf(pauseOperation),
    run: (operations, { runId, now }) => operations.pause(runId, { now }).then(toRecord),
  }),
  defineTool({
    name: 'halo_resume',
    title: 'Resume a paused run',
    description: 'Continues a paused run. Call it only if the user wants that. Settings and PRD stay the same.',
    uses: [resumeOperation],
    idempotent: true,
    input: z.strictObject({ runId: RUN_REFERENCE }),
    output: outputOf(resumeOperation),
    run: (operations, { runId }) => operations.resume(runId, {}).then(toRecord),
  }),
  defineTool({
    name: 'halo_retry',
    title: 'Retry failed stories',
    description:
      'Retries failed and cancelled stories, or one story, with fresh attempts. It costs as much as before: read the reason of the failure first. Settings stay the same.',
    uses: [retryOperation],
    input: z.strictObject({ runId: RUN_REFERENCE, story: fieldOf(retryOperation, 'story') }),
    output: outputOf(retryOperation),
    run: (operations, { runId, story }) => operations.retry(runId, story).then(toRecord),
  }),
  defineTool({
    name: 'halo_cancel',
    title: 'Cancel a run or a story',
    description: cancelOperation.summary,
    uses: [cancelOperation],
    idempotent: true,
    input: z.strictObject({ runId: RUN_REFERENCE, story: fieldOf(cancelOperation, 'story') }),
    output: outputOf(cancelOperation),
    run: (operations, { runId, story }) => operations.cancel(runId, story).then(toRecord),
  }),
  defineTool({
    name: 'halo_answer',
    title: 'Answer a question',
    description: `${answerOperation.summary} Only with what the user said.`,
    uses: [answerOperation],
    idempotent: true,
    input: z.strictObject({
      runId: RUN_REFERENCE,
      story: fieldOf(answerOperation, 'story'),
      text: fieldOf(answerOperation, 'text'),
      option: fieldOf(answerOperation, 'option'),
    }),
    output: outputOf(answerOperation),
    run: (operations, { runId, story, text, option }) =>
      operations.answer(runId, story, option === undefined ? (text ?? '') : { option }).then(toRecord),
  }),
  defineTool({
    name: 'halo_approve',
    title: 'Approve a story or a run',
    description: `${approveOperation.summary} Only if the user has seen the diff and said so, also to each flag in \`confirm\`.`,
    uses: [approveOperation],
    idempotent: true,
    input: z.strictObject({ runId: RUN_REFERENCE, story: fieldOf(approveOperation, 'story'), ...CONFIRMATION }),
    output: decided,
    run: (operations, { runId, story, ...confirmation }) =>
      story === undefined ? operations.approveRun(runId, confirmation) : operations.approve(runId, story, confirmation),
  }),
  defineTool({
    name: 'halo_reject',
    title: 'Reject a story or a run',
    description: `${rejectOperation.summary} Only if the user said so.`,
    uses: [rejectOperation],
    idempotent: true,
    input: z.strictObject({
      runId: RUN_REFERENCE,
      story: fieldOf(rejectOperation, 'story'),
      reason: fieldOf(rejectOperation, 'reason'),
      feedback: fieldOf(rejectOperation, 'feedback'),
      comments: fieldOf(rejectOperation, 'comments'),
    }),
    output: decided,
    run: (operations, { runId, story, reason, feedback, comments }) => {
      if (feedback !== undefined || comments !== undefined)
        return operations.giveFeedback(runId, story ?? '', { feedback, comments });
      return story === undefined ? operations.rejectRun(runId, reason) : operations.reject(runId, story, reason);
    },
  }),
  defineTool({
    name: 'halo_land',
    title: 'Land a run',
    description: `${landOperation.summary} Only if the user said so, also to each flag in \`confirm\`.`,
    uses: [landOperation],
    idempotent: true,
    input: z.strictObject({ runId: RUN_REFERENCE, ...CONFIRMATION }),
    output: z.object({ branch: z.string(), from: z.string(), to: z.string(), pushedTo: z.string().optional() }),
    run: (operations, { runId, ...confirmation }) => operations.land(runId, confirmation),
  }),
  defineTool({
    name: 'halo_pr',
    title: 'Open a pull request',
    description: `${requestPullOperation.summary} Only if the user said so, also to a possible secret.`,
    uses: [requestPullOperation],
    idempotent: true,
    input: z.strictObject({ runId: RUN_REFERENCE, ...CONFIRMATION }),
    output: outputOf(requestPullOperation),
    run: (operations, { runId, ...confirmation }) => operations.requestPull(runId, confirmation).then(toRecord),
  }),
];

function toRecord(result: object): Record<string, unknown> {
  return { ...result };
}
