import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { safeText } from '../../core/text/safe-text.ts';
import { memo } from '../page/memo.ts';
import { CommentCard, CommentEditor } from './comment-panel.tsx';
import { markChanged, readTokens } from './highlight-lines.ts';
import type { ReviewFinding } from '../../core/review/agent-review.ts';
import { AgentFinding } from './agent-findings.tsx';
import type { PatchFile, PatchHunk, PatchLine } from '../../core/review/read-patch.ts';
import type { ChangedPart, DiffRow } from './diff-rows.ts';
import { isIn, type Place, type ReviewAction, type UnsentComment, type ReviewState } from './review-state.ts';
import { useNear } from '../page/use-near.ts';

/** A row of a file: the header of a hunk, or lines. */
export interface BlockRow extends DiffRow {
  hunk: PatchHunk;
  isHeader?: true;
}

/** What all rows of a file have in common. */
export interface RowContext {
  file: PatchFile;
  isSplit: boolean;
  mayComment: boolean;
  changedParts: ReadonlyMap<PatchLine, ChangedPart>;
  comments: readonly UnsentComment[];
  /** Of another agent, about this file. */
  findings?: readonly ReviewFinding[];
  draft: ReviewState['draft'];
  chosen: ReviewState['chosen'];
  target: ReviewState['target'];
  dispatch: (action: ReviewAction) => void;
}

/** The height of a row that is not drawn yet. */
const ROW_PX = 22;

/** Rows that are drawn while they are near the visible part of the page; otherwise a place of their height. */
export const DiffBlock = memo(({ rows, context }: { rows: readonly BlockRow[]; context: RowContext }): JSX.Element => {
  const element = useRef<HTMLDivElement>(null);
  const height = useRef(rows.length * ROW_PX);
  const { draft, target } = context;
  const has = (place: Place | undefined) => place !== undefined && rows.some((row) => endsAt(context.file, row, place));
  const isDrawn = useNear(element) || has(draft) || has(target);
  useEffect(() => {
    if (isDrawn && element.current !== null) height.current = element.current.offsetHeight;
  });
  useEffect(() => {
    if (target === undefined || !has(target)) return;
    const button = element.current?.querySelector<HTMLElement>(
      `[data-side="${target.side}"][data-line="${target.endLine ?? target.line}"]`,
    );
    if (target.isVisible !== true) button?.scrollIntoView({ block: 'center' });
    if (draft === undefined) button?.focus({ preventScroll: true });
  }, [target?.count]);
  return (
    <div ref={element} style={{ minHeight: isDrawn ? undefined : `${height.current}px` }}>
      {isDrawn && rows.map((row, index) => <Row key={index} row={row} context={context} />)}
    </div>
  );
});

/** Whether a row has the last line of a place. */
function endsAt(file: PatchFile, row: BlockRow, { path, side, line, endLine = line }: Place): boolean {
  if (row.isHeader === true || file.path !== path) return false;
  return side === 'old' ? row.left?.old === endLine : row.right?.new === endLine;
}

function Row({ row, context }: { row: BlockRow; context: RowContext }): JSX.Element {
  const { file, isSplit, comments, findings = [], draft, dispatch } = context;
  if (row.isHeader === true)
    return (
      <div class="row hunk" data-row>
        <span class="range">{row.hunk.header}</span> <span>{safeText(row.hunk.heading)}</span>
      </div>
    );
  const written = draft !== undefined && endsAt(file, row, draft) ? draft : undefined;
  const here = comments.filter((comment) => comment.id !== draft?.id && endsAt(file, row, comment));
  const found = findings.filter(({ line }) => line !== undefined && line === row.right?.new);
  return (
    <>
      {isSplit ? <SplitLine row={row} context={context} /> : <UnifiedLine row={row} context={context} />}
      {(written !== undefined || here.length + found.length > 0) && (
        <div class="talk">
          {found.map((finding, index) => (
            <AgentFinding key={`finding ${index}`} finding={finding} />
          ))}
          {here.map((comment) => (
            <CommentCard key={comment.id} comment={comment} dispatch={dispatch} />
          ))}
          {written !== undefined && <CommentEditor draft={written} dispatch={dispatch} />}
        </div>
      )}
    </>
  );
}

interface LineProps {
  row: BlockRow;
  context: RowContext;
}

function UnifiedLine({ row, context }: LineProps): JSX.Element {
  const { hunk, left, right } = row;
  const line = right ?? left;
  if (line === undefined) return <></>;
  return (
    <div class={`row ${line.kind}${isChosen(row, context) ? ' chosen' : ''}`} data-row>
      {left === undefined ? (
        <span class="number">{line.old}</span>
      ) : (
        <LineNumber line={left} side="old" row={row} context={context} />
      )}
      {right === undefined ? (
        <span class="number" />
      ) : (
        <LineNumber line={right} side="new" row={row} context={context} />
      )}
      <Code hunk={hunk} line={line} context={context} />
    </div>
  );
}

function SplitLine({ row, context }: LineProps): JSX.Element {
  const { hunk, left, right } = row;
  const none = <span class="number none" />;
  return (
    <div class={`row split${isChosen(row, context) ? ' chosen' : ''}`} data-row>
      {left === undefined ? (
        none
      ) : left.kind === 'same' ? (
        <span class="number">{left.old}</span>
      ) : (
        <LineNumber line={left} side="old" row={row} context={context} />
      )}
      {left === undefined ? <code class="none" /> : <Code hunk={hunk} line={left} context={context} />}
      {right === undefined ? none : <LineNumber line={right} side="new" row={row} context={context} />}
      {right === undefined ? <code class="none" /> : <Code hunk={hunk} line={right} context={context} />}
    </div>
  );
}

function isChosen({ left, right }: BlockRow, { file, chosen }: RowContext): boolean {
  if (chosen === undefined || chosen.path !== file.path) return false;
  const line = chosen.side === 'old' ? left?.old : right?.new;
  return line !== undefined && isIn(chosen, { ...chosen, line });
}

interface LineNumberProps extends LineProps {
  line: PatchLine;
  side: 'old' | 'new';
}

/** The number of a line, with which people comment on it. Tab reaches the first one of a hunk, arrow keys the others. */
function LineNumber({ line, side, row, context }: LineNumberProps): JSX.Element {
  const number = side === 'old' ? line.old : line.new;
  const place = { class: `number ${line.kind}`, 'data-side': side, 'data-line': number };
  if (!context.mayComment) return <span {...place}>{number}</span>;
  return (
    <button
      type="button"
      {...place}
      tabIndex={row.hunk.lines[0] === line ? 0 : -1}
      aria-label={`Comment on ${side === 'old' ? 'old ' : ''}line ${number}`}
    >
      {number}
    </button>
  );
}

function Code({ hunk, line, context }: { hunk: PatchHunk; line: PatchLine; context: RowContext }): JSX.Element {
  const tokens = markChanged(readTokens(context.file.path, hunk, line), context.changedParts.get(line));
  return (
    <code class={line.kind}>
      {tokens.map(({ text, kind, isChanged }, index) =>
        kind === undefined && !isChanged ? (
          safeText(text)
        ) : (
          <span key={index} class={`${kind === undefined ? '' : `code-${kind}`}${isChanged ? ' changed' : ''}`}>
            {safeText(text)}
          </span>
        ),
      )}
      {line.isCut === true && <span class="soft"> (no line end)</span>}
    </code>
  );
}
