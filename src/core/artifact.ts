/** A file that an attempt left. */
export interface Artifact {
  /** Below artifacts/: `<story key>/<attempt>/<name>`, e.g. `us-001-0c1f2a3b/2/gates/1.log`. */
  path: string;
  bytes: number;
  /** ISO 8601 */
  changedAt: string;
}
