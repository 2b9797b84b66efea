import { answerOperation } from './control/answer.ts';
import { approveOperation } from './control/approve.ts';
import { cancelOperation } from './control/cancel.ts';
import { pauseOperation } from './control/pause.ts';
import { rejectOperation } from './control/reject.ts';
import { resumeOperation } from './control/resume.ts';
import { retryOperation } from './control/retry.ts';
import { followLogOperation } from './logs/follow-log-size.ts';
import { readLogOperation } from './logs/read-log.ts';
import { searchLogOperation } from './logs/search-log.ts';
import type { AnyOperation } from './operation.ts';
import { listDeliveriesOperation } from './notify/list-deliveries.ts';
import { listEndpointsOperation } from './notify/list-endpoints.ts';
import { retryEndpointOperation } from './notify/retry-endpoint.ts';
import { testEndpointOperation } from './notify/test-endpoint.ts';
import { estimatePrdOperation } from './prds/estimate-prd.ts';
import { previewPromptOperation } from './prds/preview-prompt.ts';
import { validatePrdOperation } from './prds/validate-prd.ts';
import { followEventsOperation } from './runs/follow-events.ts';
import { followRawOperation } from './runs/follow-raw.ts';
import { followRunsOperation } from './runs/follow-runs.ts';
import { getRunOperation } from './runs/get-run.ts';
import { landOperation } from './runs/land.ts';
import { listArtifactsOperation } from './runs/list-artifacts.ts';
import { listRunsOperation } from './runs/list-runs.ts';
import { readArtifactOperation } from './runs/read-artifact.ts';
import { readDiffOperation } from './runs/read-run-diff.ts';
import { requestPullOperation } from './runs/pull.ts';
import { replayOperation } from './runs/replay.ts';
import { submitBatchOperation } from './runs/submit-batch.ts';
import { submitIssuesOperation } from './runs/submit-issues.ts';
import { submitOperation } from './runs/submit.ts';
import { describeApiOperation } from './server/describe-api.ts';
import { reportAuditOperation } from './reports/report-audit.ts';
import { reportBudgetsOperation } from './reports/report-budgets.ts';
import { reportCostsOperation } from './reports/report-costs.ts';
import { reportErrorsOperation } from './reports/report-errors.ts';
import { reportQualityOperation } from './reports/report-quality.ts';
import { drainWorkerOperation } from './server/drain-worker.ts';
import { listBreakersOperation } from './server/list-breakers.ts';
import { listWorkersOperation } from './server/list-workers.ts';
import { listSnapshotsOperation } from './server/list-snapshots.ts';
import { readMetricsOperation } from './server/metrics.ts';
import { readDoctorOperation } from './server/read-doctor.ts';
import { readSettingsOperation } from './server/read-settings.ts';
import { pruneOperation } from './server/prune.ts';
import { removeSnapshotsOperation } from './server/remove-snapshots.ts';
import { resetBreakerOperation } from './server/reset-breaker.ts';
import { resumeWorkerOperation } from './server/resume-worker.ts';
import { addUserOperation } from './users/add-user.ts';
import { changeUserOperation } from './users/change-user.ts';
import { createTokenOperation } from './users/create-token.ts';
import { listUsersOperation } from './users/list-users.ts';
import { readAccessLogOperation } from './users/read-access-log.ts';
import { removeUserOperation } from './users/remove-user.ts';
import { revokeTokenOperation } from './users/revoke-token.ts';

/** Every operation by its name, in the order of the reference. */
export const OPERATIONS = {
  validatePrd: validatePrdOperation,
  estimatePrd: estimatePrdOperation,
  previewPrompt: previewPromptOperation,
  submit: submitOperation,
  submitBatch: submitBatchOperation,
  submitIssues: submitIssuesOperation,
  listRuns: listRunsOperation,
  getRun: getRunOperation,
  followRuns: followRunsOperation,
  followEvents: followEventsOperation,
  followRaw: followRawOperation,
  readDiff: readDiffOperation,
  listArtifacts: listArtifactsOperation,
  readArtifact: readArtifactOperation,
  readLog: readLogOperation,
  searchLog: searchLogOperation,
  followLog: followLogOperation,
  pause: pauseOperation,
  resume: resumeOperation,
  cancel: cancelOperation,
  retry: retryOperation,
  answer: answerOperation,
  approve: approveOperation,
  reject: rejectOperation,
  land: landOperation,
  requestPull: requestPullOperation,
  replay: replayOperation,
  reportCosts: reportCostsOperation,
  reportQuality: reportQualityOperation,
  reportBudgets: reportBudgetsOperation,
  reportErrors: reportErrorsOperation,
  reportAudit: reportAuditOperation,
  listWorkers: listWorkersOperation,
  drainWorker: drainWorkerOperation,
  resumeWorker: resumeWorkerOperation,
  readSettings: readSettingsOperation,
  readDoctor: readDoctorOperation,
  listBreakers: listBreakersOperation,
  resetBreaker: resetBreakerOperation,
  listSnapshots: listSnapshotsOperation,
  removeSnapshots: removeSnapshotsOperation,
  prune: pruneOperation,
  listEndpoints: listEndpointsOperation,
  testEndpoint: testEndpointOperation,
  retryEndpoint: retryEndpointOperation,
  listDeliveries: listDeliveriesOperation,
  listUsers: listUsersOperation,
  addUser: addUserOperation,
  changeUser: changeUserOperation,
  removeUser: removeUserOperation,
  createToken: createTokenOperation,
  revokeToken: revokeTokenOperation,
  readAccessLog: readAccessLogOperation,
  readMetrics: readMetricsOperation,
  describeApi: describeApiOperation,
} as const satisfies Record<string, AnyOperation>;

/** The same as a list. */
export const ALL_OPERATIONS: readonly AnyOperation[] = Object.values(OPERATIONS);
