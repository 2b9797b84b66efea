/** Replaces line breaks and control characters with spaces, for commit messages and terminals. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ').trim();
}

/** The text with its first character in upper case. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The first `max` texts, separated by commas, and the number of the others. */
export function listSome(texts: readonly (string | number)[], max: number): string {
  const named = texts.slice(0, max).join(', ');
  return texts.length > max ? `${named} and ${texts.length - max} more` : named;
}

/** Quotes text as one word of a POSIX shell command. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
