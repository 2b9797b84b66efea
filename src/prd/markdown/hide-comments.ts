interface HiddenText {
  /** The text with spaces in place of comments; line breaks stay. */
  text: string;
  /** The lines in which comments begin, from 0. */
  starts: number[];
  /** The line of a comment without an end. */
  open: number | undefined;
}

/** A character after a backslash, the backticks around a code span, or the beginning of a comment. */
const MARK = /\\[!-/:-@[-`{-~]|`+|<!--/g;

/**
 * Replaces the HTML comments in the text of a block with spaces, except within code spans. `toEnd`: a comment without an end
 * reaches to the end of the text; otherwise it is text. Takes linear time.
 */
export function hideComments(text: string, toEnd = false): HiddenText {
  const hidden: HiddenText = { text: '', starts: [], open: undefined };
  const spans = findCodeSpans(text);
  let [shown, line, counted] = [0, 0, 0];
  const mark = new RegExp(MARK);
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    const [{ index }, sign] = [found, found[0]];
    if (sign.startsWith('`')) mark.lastIndex = spans.get(index) ?? mark.lastIndex;
    if (sign !== '<!--') continue;
    const end = text.indexOf('-->', index + 2);
    if (end < 0 && !toEnd) break;
    for (; counted < index; counted++) if (text[counted] === '\n') line++;
    if (end < 0) hidden.open = line;
    hidden.starts.push(line);
    mark.lastIndex = end < 0 ? text.length : end + 3;
    hidden.text += text.slice(shown, index) + text.slice(index, mark.lastIndex).replace(/[^\n]/g, ' ');
    shown = mark.lastIndex;
    if (end < 0) break;
  }
  hidden.text += text.slice(shown);
  return hidden;
}

/** The end of each code span, by its beginning: after the next run of as many backticks. */
function findCodeSpans(text: string): Map<number, number> {
  const next = new Map<number, number>();
  const spans = new Map<number, number>();
  for (const { index, 0: run } of [...text.matchAll(/`+/g)].reverse()) {
    const closer = next.get(run.length);
    if (closer !== undefined) spans.set(index, closer + run.length);
    next.set(run.length, index);
  }
  return spans;
}
