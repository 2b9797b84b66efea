/** Whether a text can name a report file: a plain path from the top of the repository, which becomes a word of a script. */
export function isReportPath(path: string): boolean {
  return /^[\w.@ +-]+(?:\/[\w.@ +-]+)*$/.test(path) && !path.split('/').includes('..');
}
