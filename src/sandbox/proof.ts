import type { DiskRung } from './sandbox.ts';

/** One promise of a sandbox and whether the engine keeps it. */
export interface ProvenFact {
  name: string;
  /** `warn`: halo can go on without it. */
  ok: 'ok' | 'warn' | 'fail';
  says: string;
  mend?: string;
}

/** What a throwaway sandbox showed of an engine and a runtime. */
export interface Proof {
  /** The runtime to use; undefined: the engine's default. */
  runtime: string | undefined;
  disk: DiskRung;
  /** Whether a sandbox can have a limit of terminals of its own. */
  ptys: boolean;
  facts: ProvenFact[];
}
