import { removeUnsafe } from './safe-text.ts';

/** Makes a stream of bytes safe to print, however it is cut into pieces. */
export interface SafeStream {
  /** What may be printed now; an escape sequence that is not complete is held in mind, not in memory. */
  write(bytes: Uint8Array): string;
  end(): string;
}

/** Where in an escape sequence the stream is. `string` is an OSC, DCS, SOS, PM or APC, `ended` one with an ESC in it. */
type Place = 'text' | 'escape' | 'intermediate' | 'csi' | 'string' | 'ended';

/** Does to a stream what `safeText` does to a whole text. */
export function openSafeStream(): SafeStream {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let place: Place = 'text';
  let afterReturn = false;

  function clean(text: string): string {
    let out = '';
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      const next = follow(place, code);
      place = next ?? begin(code);
      if (next !== undefined || place !== 'text') continue;
      if (code === LF && afterReturn) afterReturn = false;
      else {
        afterReturn = code === CR;
        out += LINE_ENDS.includes(code) ? '\n' : text.charAt(at);
      }
    }
    return removeUnsafe(out);
  }

  return {
    write: (bytes) => clean(decoder.decode(bytes, { stream: true })),
    end: () => clean(decoder.decode()),
  };
}

const [BEL, LF, CR, ESC, BACKSLASH, ST] = [0x07, 0x0a, 0x0d, 0x1b, 0x5c, 0x9c];
const LINE_ENDS = [CR, 0x85, 0x2028, 0x2029];
/** `]PX^_` after an ESC, and the one-byte forms of the same. */
const STRINGS = [0x5d, 0x50, 0x58, 0x5e, 0x5f];
const C1_STRINGS = [0x9d, 0x90, 0x98, 0x9e, 0x9f];

/** The place that a character begins which belongs to no sequence. */
function begin(code: number): Place {
  if (code === ESC) return 'escape';
  if (code === 0x9b) return 'csi';
  return C1_STRINGS.includes(code) ? 'string' : 'text';
}

/** The place after a character that belongs to the sequence; undefined when it ends there and the character does not. */
function follow(place: Place, code: number): Place | undefined {
  switch (place) {
    case 'text':
      return undefined;
    case 'escape':
      if (STRINGS.includes(code)) return 'string';
      if (code === 0x5b) return 'csi';
      return within(code, 0x20, 0x2f) ? 'intermediate' : within(code, 0x30, 0x7e) ? 'text' : undefined;
    case 'intermediate':
      return within(code, 0x20, 0x2f) ? 'intermediate' : within(code, 0x30, 0x7e) ? 'text' : undefined;
    case 'csi':
      return within(code, 0x20, 0x3f) ? 'csi' : within(code, 0x40, 0x7e) ? 'text' : undefined;
    case 'string':
      if (code === ESC) return 'ended';
      if (code === LF || code === CR) return undefined;
      return code === BEL || code === ST ? 'text' : 'string';
    case 'ended':
      return code === BACKSLASH ? 'text' : follow('escape', code);
  }
}

function within(code: number, from: number, to: number): boolean {
  return code >= from && code <= to;
}
