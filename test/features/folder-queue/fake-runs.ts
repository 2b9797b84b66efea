import type { RunView } from '../../../src/api/operations/runs.ts';
import type { SubmitRequest } from '../../../src/api/operations/schemas.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { created, stateOf } from '../../support/journal.ts';
import type { FolderRequest } from '../../../src/features/folder-queue/api/run-folder-queue.ts';

/** Runs that end as soon as they are looked at. A key creates its run once, and only for the same request. */
export class FakeRuns {
  readonly submitted: SubmitRequest[] = [];
  readonly byKey = new Map<string, { runId: string; asked: string }>();
  readonly ends = new Map<string, { stopReason: string; path: string; status: string; landed?: object }>();
  /** How the run of a PRD ends, by its file name; SUCCESS by default. */
  readonly outcomes = new Map<string, string>();
  /** Called with the file of a run that is to end. */
  onEnd: (path: string) => unknown = () => undefined;

  readonly operations: FolderRequest['operations'] = {
    submit: (request) => {
      const { prd, key = '', ...options } = request;
      const name = prd.path.split('/').at(-1) ?? '';
      const outcome = this.outcomes.get(name) ?? 'SUCCESS';
      if (outcome === 'PRD_INVALID') return Promise.reject(new HaloError('PRD_INVALID', `${name} is refused.`));
      const asked = JSON.stringify([options, Buffer.from(prd.bytes).toString('base64')]);
      const known = this.byKey.get(key);
      if (known !== undefined && known.asked !== asked)
        return Promise.reject(new HaloError('USAGE', 'Another submit.'));
      if (known === undefined) {
        this.submitted.push(request);
        const runId = `run${this.submitted.length}`;
        this.byKey.set(key, { runId, asked });
        this.ends.set(runId, { stopReason: outcome, path: prd.path, status: 'ended' });
      }
      const { runId } = this.byKey.get(key)!;
      return Promise.resolve({ runs: [{ runId, repo: request.repos[0] ?? '', parallel: 1, warnings: [] }] });
    },
    getRun: ({ runId }) => {
      const end = this.ends.get(runId);
      if (end === undefined) return Promise.reject(new HaloError('RUN_NOT_FOUND', 'No.'));
      if (end.status === 'ended') this.onEnd(end.path);
      const { status, stopReason, landed } = end;
      const state = { ...stateOf(created(runId, 1)), runId, status, stopReason, landed, detail: 'why' };
      return Promise.resolve({ state: state as RunState, workers: 1 } as RunView);
    },
  };
}
