import type { StateBlock } from 'markdown-it';

const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*(\S*)/;

/**
 * A rule of markdown-it: a block of Markdown that contains code with the same fence (` ```markdown `, ` ```sh `, ` ``` `,
 * ` ``` `) ends where its author means it to end. By CommonMark the inner end closes the outer block, and the outer end
 * opens another, which hides what follows. If the fences do not match, CommonMark decides.
 */
export function nestedFence(state: StateBlock, start: number, end: number, isProbe: boolean): boolean {
  const [, sign = '', info = ''] = fenceOf(state, start) ?? [];
  if (!/^(?:md|mdx|markdown)$/i.test(info) || state.env[UNMATCHED] === true) return false;
  let [depth, isNested] = [1, false];
  for (let line = start + 1; line < end; line++) {
    if (!state.isEmpty(line) && (state.sCount[line] ?? 0) < state.blkIndent) break;
    const [, inner = '', language = ''] = fenceOf(state, line) ?? [];
    if (inner[0] !== sign[0] || inner.length < sign.length) continue;
    depth += language === '' ? -1 : 1;
    isNested ||= depth > 1;
    if (depth > 0) continue;
    if (!isNested) return false;
    if (!isProbe) addBlock(state, start, line + 1);
    return true;
  }
  state.env[UNMATCHED] = true;
  return false;
}

/** Set in a file whose fences do not match: searching from each of them would take quadratic time. */
const UNMATCHED = 'unmatchedFences';

function addBlock(state: StateBlock, start: number, end: number): void {
  state.line = end;
  state.push('fence', 'code', 0).map = [start, end];
}

/** The fence in a line that is not indented as code. */
function fenceOf(state: StateBlock, line: number): RegExpExecArray | null {
  const indent = (state.sCount[line] ?? 0) - state.blkIndent;
  const from = (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0);
  return indent > 3 ? null : FENCE.exec(state.src.slice(from, state.eMarks[line]));
}
