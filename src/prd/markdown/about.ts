import { toOneLine } from '../../lib/one-line.ts';
import type { MarkdownDocument } from './scan.ts';

/** What a file says of itself: its first heading, and the text between that and the next one. */
export function readAbout({ lines }: MarkdownDocument): { project: string; description: string } {
  const first = lines.findIndex(({ kind, level }) => kind === 'heading' && level === 1);
  if (first < 0) return { project: '', description: '' };
  const rest = lines.slice(first + 1);
  const next = rest.findIndex(({ kind }) => kind === 'heading' || kind === 'item');
  const text = rest.slice(0, next < 0 ? rest.length : next).map((line) => line.text);
  const description = text
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  // The sign of a story that is done is no part of a name.
  const heading = (lines[first]?.text ?? '').replaceAll('✅', '');
  return {
    project: toOneLine(heading.replace(/^(?:prd|tasks|plan)\s?:\s/i, '')),
    description: description.replace(/(?:^|\n)-{3,}$/, '').trim(),
  };
}
