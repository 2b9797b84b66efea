/** The branch of a run in the host repository. */
export function runRef(runId: string): string {
  return `refs/heads/halo/${runId}`;
}
