import type { DiskLimitMethod } from '../sandbox.ts';

/** One property of a sandbox, and whether the engine enforces it. */
export interface IsolationFinding {
  name: string;
  /** `warn`: halo works without it. */
  ok: 'ok' | 'warn' | 'fail';
  says: string;
  fix?: string;
}

/** The result of the isolation check of an engine and a runtime. */
export interface IsolationReport {
  /** The runtime to use; undefined for the engine's default. */
  runtime: string | undefined;
  disk: DiskLimitMethod;
  /** Whether the number of terminals of a sandbox can be limited. */
  ptys: boolean;
  facts: IsolationFinding[];
}
