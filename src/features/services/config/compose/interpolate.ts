/** A text of a compose file without its variables, or the name of one that has no value. */
export type Interpolated = { text: string } | { missing: string };

const VARIABLE = /^\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-?+])((?:[^{}]|\{[^{}]*\})*))?\})/;

/**
 * Replaces `${NAME:-value}` by the value, because no variable of the machine that reads the file counts: the same file means
 * the same everywhere. `$$` is a dollar sign.
 */
export function interpolate(text: string, depth = 0): Interpolated {
  let done = '';
  for (let at = 0; at < text.length;) {
    const next = text.indexOf('$', at);
    if (next < 0) return { text: done + text.slice(at) };
    done += text.slice(at, next);
    const found = VARIABLE.exec(text.slice(next));
    if (found === null) return { missing: text.slice(next, next + 20) };
    const [whole, plain, braced, operator = '', value = ''] = found;
    at = next + whole.length;
    if (whole === '$$') done += '$';
    else if (operator.endsWith('-') && depth < 3) {
      const inner = interpolate(value, depth + 1);
      if ('missing' in inner) return inner;
      done += inner.text;
    } else if (!operator.endsWith('+')) return { missing: plain ?? braced ?? '' };
  }
  return { text: done };
}
