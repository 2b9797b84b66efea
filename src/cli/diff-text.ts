import { safeText } from '../core/safe-text.ts';
import type { Paint, Tone } from '../core/transcript-line.ts';

/** A unified diff for a terminal: colored, and made harmless whatever the agent wrote. */
export function coloredDiff(text: string, paint: Paint): string {
  return text
    .split('\n')
    .map((line) => paint(toneOf(line), safeText(line)))
    .join('\n');
}

function toneOf(line: string): Tone {
  if (/^(diff|index|\+\+\+|---) /.test(line)) return 'strong';
  if (line.startsWith('@@')) return 'quiet';
  if (line.startsWith('+')) return 'good';
  return line.startsWith('-') ? 'bad' : 'plain';
}
