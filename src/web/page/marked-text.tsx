import type { JSX } from 'preact';

/** A text in which the words of a search, in lower case, are marked. */
export function Marked({ text, words }: { text: string; words: readonly string[] }): JSX.Element {
  const longest = [...words].sort((a, b) => b.length - a.length);
  if (longest.length === 0) return <>{text}</>;
  const pattern = new RegExp(
    `(${longest.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})`,
    'giu',
  );
  // Every second part is one that the pattern has found.
  return <>{text.split(pattern).map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part))}</>;
}
