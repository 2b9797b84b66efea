/**
 * Makes what programs of a sandbox print safe for the terminal of a person. Text, colours, cursor movements and screens
 * pass. What makes a terminal answer, or changes more than what it shows, is removed: queries, titles, the clipboard, links,
 * key reports, resets.
 */
export interface TerminalFilter {
  /** Returns what can be printed now. */
  write(bytes: Uint8Array): string;
  /** What puts the terminal back into its normal state. */
  end(): string;
}

/** Cursor, erasing, scrolling, inserting and deleting, tabs, colours, margins. */
const PLAIN_FINALS = '@ABCDEFGHIJKLMPSTXZ`abdefgmrsu';
/** Modes of the screen, the cursor keys, and pasting, and what ends them. */
const MODES = ['1', '7', '12', '25', '47', '1047', '1048', '1049', '2004'];
/** Of the modes, those that are on in a normal terminal. */
const NORMAL = ['7', '25'];

const CONTROLS = '\u0007\b\t\n\r\u000e\u000f';
/** Saves and restores the cursor, moves it, and chooses the meaning of the number pad. */
const SIMPLE = '78DEM=>';
const CHARSETS = /^[()][0AB]$/;
const MAX_SEQUENCE = 128;

type State = 'text' | 'escape' | 'charset' | 'sequence' | 'string' | 'string-escape';

/** Decodes a stream of UTF-8, whatever its chunks. */
export function openTerminalFilter(): TerminalFilter {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const changed = new Set<string>();
  let state: State = 'text';
  let kept = '';

  function take(character: string): string {
    switch (state) {
      case 'text':
        return takeText(character);
      case 'escape':
        return takeEscape(character);
      case 'charset': {
        state = 'text';
        const sequence = kept + character;
        return CHARSETS.test(sequence) ? `\u001b${sequence}` : '';
      }
      case 'sequence':
        return takeSequence(character);
      case 'string':
        if (character === '\u0007' || isCancel(character)) state = 'text';
        else if (character === '\u001b') state = 'string-escape';
        return '';
      case 'string-escape':
        // What follows an escape in a string begins a sequence, unless it ends the string.
        state = 'escape';
        if (character !== '\\') return takeEscape(character);
        state = 'text';
        return '';
    }
  }

  function takeText(character: string): string {
    if (character === '\u001b') state = 'escape';
    return isText(character) ? character : '';
  }

  function takeEscape(character: string): string {
    state = 'text';
    kept = '';
    if (character === '[') state = 'sequence';
    else if (character === '(' || character === ')') [state, kept] = ['charset', character];
    else if ('PX]^_'.includes(character)) state = 'string';
    else if (character === '\u001b') state = 'escape';
    else if (SIMPLE.includes(character)) return `\u001b${character}`;
    return '';
  }

  function takeSequence(character: string): string {
    if (character === '\u001b') {
      state = 'escape';
      return '';
    }
    if (character < ' ') {
      if (isCancel(character)) state = 'text';
      return isText(character) ? character : '';
    }
    kept += character;
    if (character < '@' && kept.length < MAX_SEQUENCE) return '';
    state = 'text';
    return passSequence(kept);
  }

  function passSequence(sequence: string): string {
    const [, mark = '', parameters = '', final = ''] = /^(\??)([\d;:]*)([@-~])$/.exec(sequence) ?? [];
    if (final === '' || /\d{6}/.test(parameters)) return '';
    if (final === 'h' || final === 'l') return mark === '?' ? passModes(parameters, final) : '';
    const isErase = final === 'J' || final === 'K';
    return (mark === '' || isErase) && PLAIN_FINALS.includes(final) ? `\u001b[${sequence}` : '';
  }

  function passModes(parameters: string, final: 'h' | 'l'): string {
    const modes = parameters.split(';').filter((mode) => MODES.includes(mode));
    for (const mode of modes) {
      if (NORMAL.includes(mode) === (final === 'h')) changed.delete(mode);
      else changed.add(mode);
    }
    return modes.length === 0 ? '' : `\u001b[?${modes.join(';')}${final}`;
  }

  return {
    write: (bytes) => Array.from(decoder.decode(bytes, { stream: true }), take).join(''),
    end() {
      const modes = [...changed].map((mode) => `\u001b[?${mode}${NORMAL.includes(mode) ? 'h' : 'l'}`);
      changed.clear();
      // Margins move the cursor, which is saved for that.
      return `\u000f\u001b(B\u001b>${modes.join('')}\u001b7\u001b[r\u001b8\u001b[0m`;
    },
  };
}

function isCancel(character: string): boolean {
  return character === '\u0018' || character === '\u001a';
}

/** No other control characters, also not those of eight bits. */
function isText(character: string): boolean {
  return CONTROLS.includes(character) || (character >= ' ' && (character < '\u007f' || character > '\u009f'));
}
