/** One line of text: line breaks and control characters become spaces, for commit messages and terminals. */
export function toOneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ').trim();
}
