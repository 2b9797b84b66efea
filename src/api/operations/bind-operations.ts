import type { RunDecisionResult, StoryDecisionResult } from '../../core/run/control-result.ts';
import { defined } from '../../lib/guards.ts';
import type { Operations } from '../operations.ts';
import type { ListedRuns } from '../runs/limited-runs.ts';
import { answerOperation } from './control/answer.ts';
import { approveOperation } from './control/approve.ts';
import { cancelOperation } from './control/cancel.ts';
import { pauseOperation } from './control/pause.ts';
import { rejectOperation } from './control/reject.ts';
import { resumeOperation } from './control/resume.ts';
import { retryOperation } from './control/retry.ts';
import type { CallOperation } from './operation.ts';
import { previewPromptOperation } from './prds/preview-prompt.ts';
import { validatePrdOperation } from './prds/validate-prd.ts';
import { followEventsOperation } from './runs/follow-events.ts';
import { followRawOperation } from './runs/follow-raw.ts';
import { getRunOperation } from './runs/get-run.ts';
import { landOperation } from './runs/land.ts';
import { listArtifactsOperation } from './runs/list-artifacts.ts';
import { listRunsOperation } from './runs/list-runs.ts';
import { readArtifactOperation } from './runs/read-artifact.ts';
import { readDiffOperation } from './runs/read-run-diff.ts';
import { replayOperation } from './runs/replay.ts';
import { submitBatchOperation } from './runs/submit-batch.ts';
import { submitIssuesOperation } from './runs/submit-issues.ts';
import { submitOperation } from './runs/submit.ts';
import { reportAuditOperation } from './reports/report-audit.ts';
import { reportCostsOperation } from './reports/report-costs.ts';
import { reportErrorsOperation } from './reports/report-errors.ts';
import { listBreakersOperation } from './server/list-breakers.ts';
import { listWorkersOperation } from './server/list-workers.ts';
import { listSnapshotsOperation } from './server/list-snapshots.ts';
import { pruneOperation } from './server/prune.ts';
import { removeSnapshotsOperation } from './server/remove-snapshots.ts';
import { resetBreakerOperation } from './server/reset-breaker.ts';
import { toWirePrd } from './wire-prd.ts';

/** The operations as methods. `submitter` is added to submits without a user. */
export function bindOperations(call: CallOperation, submitter?: { user: string }): Omit<Operations, 'close'> {
  return {
    previewPrompt: ({ prd, ...request }) => call(previewPromptOperation, { ...request, prd: toWirePrd(prd) }),
    validatePrd: async (prd, as) => (await call(validatePrdOperation, { prd: toWirePrd(prd), as })).prd,
    submit: async ({ prd, ...request }) =>
      (await call(submitOperation, { ...submitter, ...request, prd: toWirePrd(prd) })).runs,
    submitIssues: async (request) => (await call(submitIssuesOperation, { ...submitter, ...request })).runs,
    submitBatch: async ({ members, ...request }) => {
      const encoded = members.map((member) => ({ ...member, prd: toWirePrd(member.prd) }));
      return (await call(submitBatchOperation, { ...submitter, ...request, members: encoded })).runs;
    },
    list: async () => (await call(listRunsOperation, {})).runs,
    // An older server returns all runs, and does not say that it left none out.
    listSome: async (query) => {
      const { runs, omitted, next } = (await call(listRunsOperation, query)) as Partial<ListedRuns>;
      return { runs: runs ?? [], omitted: omitted ?? { open: 0, ended: 0 }, ...defined({ next }) };
    },
    get: (runId) => call(getRunOperation, { runId }),
    async *follow(runId, { signal, ...options }) {
      for await (const { event } of await call(followEventsOperation, { runId, ...options }, signal)) yield event;
    },
    async *raw(runId, { storyId, follow, signal }) {
      const frames = await call(followRawOperation, { runId, story: storyId, follow }, signal);
      for await (const { raw } of frames) yield new Uint8Array(Buffer.from(raw, 'base64'));
    },
    diff: (runId, story) => call(readDiffOperation, { runId, story }),
    artifacts: async (runId) => (await call(listArtifactsOperation, { runId })).artifacts,
    artifact: (runId, path, { last } = {}) => call(readArtifactOperation, { runId, path, last }),
    land: (runId) => call(landOperation, { runId }),
    pause: (runId, { now }) => call(pauseOperation, { runId, now }),
    resume: (runId, { replan, set, yes }) =>
      call(resumeOperation, {
        runId,
        ...(set && { set }),
        ...(yes !== undefined && { yes }),
        replan: replan && (replan.prd === undefined ? {} : { prd: toWirePrd(replan.prd) }),
      }),
    cancel: (runId, story) => call(cancelOperation, { runId, story }),
    retry: (runId, story, { set, yes, newTests } = {}) =>
      call(retryOperation, { runId, story, ...defined({ set, yes, newTests }) }),
    answer: (runId, story, text) => call(answerOperation, { runId, story, text }),
    approve: async (runId, story) => (await call(approveOperation, { runId, story })) as StoryDecisionResult,
    approveRun: async (runId) => (await call(approveOperation, { runId })) as RunDecisionResult,
    reject: async (runId, story, reason) =>
      (await call(rejectOperation, { runId, story, reason })) as StoryDecisionResult,
    rejectRun: async (runId, reason) => (await call(rejectOperation, { runId, reason })) as RunDecisionResult,
    replay: (runId, { storyId, attempt, signal }) => call(replayOperation, { runId, story: storyId, attempt }, signal),
    costs: (query) => call(reportCostsOperation, query),
    errors: (query) => call(reportErrorsOperation, query),
    audit: (query) => call(reportAuditOperation, query),
    workers: async () => (await call(listWorkersOperation, {})).workers,
    breakers: async (options = {}) => (await call(listBreakersOperation, options)).breakers,
    resetBreaker: async (key) => (await call(resetBreakerOperation, { key })).key,
    snapshots: async () => (await call(listSnapshotsOperation, {})).snapshots,
    prune: (request, signal) => call(pruneOperation, request, signal),
    removeSnapshots: (keys) => call(removeSnapshotsOperation, { keys }),
  };
}
