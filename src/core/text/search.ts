/** The words of a search, lower case. */
export function searchWords(find: string): string[] {
  return find
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** Whether each word of a search is a part of the text, in any case. */
export function hasWords(text: string, find: string): boolean {
  const all = text.toLowerCase();
  return searchWords(find).every((word) => all.includes(word));
}
