import { safeOutput } from '../safe-text.ts';

/** Makes a stream of bytes safe to print, however it is cut into pieces. */
export interface SafeStream {
  /** What may be printed now: whole lines, and parts of a line that is longer than 64 Ki characters. */
  write(bytes: Uint8Array): string;
  end(): string;
}

const LONGEST_LINE = 64 * 1024;

/** Does to a stream what `safeOutput` does to a whole text. */
export function openSafeStream(): SafeStream {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let pending: string[] = [];
  let length = 0;

  function take(): string {
    const text = pending.join('');
    pending = [];
    length = 0;
    return text;
  }

  function keep(text: string): void {
    if (text === '') return;
    pending.push(text);
    length += text.length;
  }

  function push(text: string): string {
    const end = text.lastIndexOf('\n') + 1;
    let done = '';
    if (end > 0) {
      keep(text.slice(0, end));
      done = safeOutput(take());
    }
    keep(text.slice(end));
    // What is cut here is shown at worst where it would have been left out or kept whole.
    return length > LONGEST_LINE ? done + safeOutput(take()) : done;
  }

  return {
    write: (bytes) => push(decoder.decode(bytes, { stream: true })),
    end: () => push(decoder.decode()) + safeOutput(take()),
  };
}
