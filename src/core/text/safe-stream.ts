import { safeOutput } from './safe-text.ts';

/** Makes a stream of bytes safe to print, independent of its chunks. */
export interface SafeStream {
  /** Returns what can be printed now: complete lines, and parts of lines longer than 64 Ki characters. */
  write(bytes: Uint8Array): string;
  end(): string;
}

const MAX_LINE_LENGTH = 64 * 1024;

/** Applies `safeOutput` to a stream. */
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
    // An escape sequence that is split here is shown instead of removed, which is harmless.
    return length > MAX_LINE_LENGTH ? done + safeOutput(take()) : done;
  }

  return {
    write: (bytes) => push(decoder.decode(bytes, { stream: true })),
    end: () => push(decoder.decode()) + safeOutput(take()),
  };
}
