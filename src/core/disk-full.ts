/** Whether words of the system, of git or of the container engine say that a disk has no room. */
export function saysDiskFull(words: string): boolean {
  return /\bENOSPC\b|\bEDQUOT\b|no space left on device|disk quota exceeded/i.test(words);
}
