/** Limits on the result of one attempt. */
export interface ImportLimits {
  packBytes: number;
  /** Changed files. */
  entries: number;
  fileBytes: number;
  /** All changed files together. */
  totalBytes: number;
  /** For each step that processes hostile data. */
  timeMs: number;
}

export const IMPORT_LIMITS: ImportLimits = {
  packBytes: 256 * 1024 * 1024,
  entries: 10_000,
  fileBytes: 100 * 1024 * 1024,
  totalBytes: 1024 * 1024 * 1024,
  timeMs: 120_000,
};
