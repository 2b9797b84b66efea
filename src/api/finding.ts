/** One thing that was checked. `mend` says how to mend it when it is not ok. */
export interface Finding {
  name: string;
  ok: 'ok' | 'warn' | 'fail';
  says: string;
  mend?: string;
}
