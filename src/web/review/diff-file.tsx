import type { JSX } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { isLockFile } from '../../core/noted-files.ts';
import { isTestPath } from '../../core/review/review.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { memo } from '../page/memo.ts';
import { DiffBlock, type BlockRow, type RowContext } from './diff-block.tsx';
import type { Patch, PatchFile } from '../../core/review/read-patch.ts';
import { describeFile, findChangedParts, toSplitRows, toUnifiedRows } from './diff-rows.ts';
import { isIn, type Place } from './review-state.ts';

interface DiffFileProps extends Omit<RowContext, 'changedParts'> {
  id: string;
  /** Undefined: what the person has viewed is not kept. */
  isViewed: boolean | undefined;
  /** What the person has chosen; undefined: as by default. */
  isToggled: boolean | undefined;
  isProtected: boolean;
  /** Numbers of the criteria for which the agent names the file. */
  criteria: string;
}

/** Rows of a block: what is drawn and removed together while a person scrolls. */
const BLOCK_ROWS = 80;

/** A file of a diff. Lock files, generated and viewed files are collapsed. */
export const DiffFile = memo((props: DiffFileProps): JSX.Element => {
  const { id, file, isViewed, isToggled, isProtected, criteria, dispatch, ...more } = props;
  const isGenerated = isLockFile(file.path) || GENERATED.test(file.path);
  const isOpen = isToggled ?? (isViewed !== true && !isGenerated);
  const name = safeText(file.path);
  const cut = name.lastIndexOf('/') + 1;
  const notes = describeFile(file);
  return (
    <section class="diff-file" id={id} aria-label={name} data-path={file.path}>
      <div class="head">
        <h2>
          <button
            type="button"
            class="fold"
            aria-expanded={isOpen}
            onClick={() => dispatch({ type: 'toggle', path: file.path, isOpen: !isOpen })}
          >
            <span class="arrow" aria-hidden="true" />
            <code>
              {file.from !== undefined && <span class="soft">{safeText(file.from)} → </span>}
              <span class="soft">{name.slice(0, cut)}</span>
              {name.slice(cut)}
            </code>
          </button>
        </h2>
        <span class="tags">
          {isProtected && <span class="tag warn">protected</span>}
          {file.status !== 'changed' && <span class="tag">{STATUS[file.status]}</span>}
          {isTestPath(file.path) && <span class="tag">test</span>}
          {criteria !== '' && <span class="tag">criterion {criteria}</span>}
        </span>
        <Counts file={file} />
        {isViewed !== undefined && (
          <label class="viewed">
            <input
              type="checkbox"
              checked={isViewed}
              aria-label={`Viewed: ${name}`}
              onChange={({ currentTarget }) =>
                dispatch({ type: 'view', path: file.path, isViewed: currentTarget.checked })
              }
            />
            Viewed
          </label>
        )}
      </div>
      {notes.length > 0 && <p class="soft notes">{notes.join(' ')}</p>}
      {isOpen ? (
        <PatchLines {...more} file={file} dispatch={dispatch} />
      ) : (
        isGenerated &&
        isViewed !== true && (
          <p class="soft notes">
            Generated, so it is not shown.{' '}
            <button
              type="button"
              class="link"
              onClick={() => dispatch({ type: 'toggle', path: file.path, isOpen: true })}
            >
              Show {file.added + file.removed} changed lines
            </button>
          </p>
        )
      )}
    </section>
  );
});

const STATUS = { added: 'new', removed: 'deleted', renamed: 'renamed' };
const GENERATED = /\.min\.(?:js|css)$|\.map$|\.snap$|\.pb\.go$|_pb2\.pyi?$|(?:^|\/)__snapshots__\//;

/** What halo notes above a patch, such as that it is cut off. */
export function PatchNotes({ notes }: Pick<Patch, 'notes'>): JSX.Element | null {
  return notes.length === 0 ? null : <p class="notice warn">{safeText(notes.join('\n'))}</p>;
}

/** The numbers of added and removed lines. */
export function Counts({ file: { added, removed } }: { file: Pick<PatchFile, 'added' | 'removed'> }): JSX.Element {
  return (
    <span class="counts">
      <span class="good">+{added}</span> <span class="bad">−{removed}</span>
    </span>
  );
}

/** The lines of a file, of which only those near the visible part of the page are drawn. */
export function PatchLines(context: Omit<RowContext, 'changedParts'>): JSX.Element {
  const { file, isSplit, mayComment, chosen, dispatch } = context;
  const blocks = useMemo(() => toBlocks(file, isSplit), [file, isSplit]);
  const changedParts = useMemo(() => new Map(file.hunks.flatMap((hunk) => [...findChangedParts(hunk)])), [file]);
  const isMoved = useRef(false);
  const common = useMemo(() => ({ ...context, changedParts }), [...Object.values(context), changedParts]);
  const choose = (event: MouseEvent, isRange: boolean) => {
    const place = placeOf(file, event);
    if (place !== undefined) dispatch({ type: 'choose', place, isRange });
  };
  const listeners = {
    onPointerDown: (event: PointerEvent) => {
      isMoved.current = false;
      choose(event, event.shiftKey);
    },
    onPointerOver: (event: PointerEvent) => {
      if (event.buttons !== 1 || event.pointerType !== 'mouse' || placeOf(file, event) === undefined) return;
      isMoved.current = true;
      choose(event, true);
    },
    onPointerUp: () => {
      if (isMoved.current) dispatch({ type: 'write' });
    },
    onClick: (event: MouseEvent) => {
      const place = placeOf(file, event);
      if (place === undefined || isMoved.current) return;
      if (chosen === undefined || !isIn(chosen, place)) dispatch({ type: 'choose', place, isRange: event.shiftKey });
      dispatch({ type: 'write' });
    },
    onKeyDown: (event: KeyboardEvent) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const from = event.target as HTMLElement;
      if (step === undefined || !from.matches('button.number')) return;
      event.preventDefault();
      const numbers = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('button.number')];
      const next = numbers[numbers.indexOf(from) + step];
      if (next === undefined) return;
      next.focus();
      const [start, place] = [placeAt(file, from), placeAt(file, next)];
      if (start === undefined || place === undefined) return;
      if (event.shiftKey && (chosen === undefined || !isIn(chosen, start))) dispatch({ type: 'choose', place: start });
      dispatch({ type: 'choose', place, isRange: event.shiftKey });
    },
  };
  return (
    <div class={`patch ${isSplit ? 'side-by-side' : ''}`} {...(mayComment ? listeners : {})}>
      {blocks.map((rows, index) => (
        <DiffBlock key={index} rows={rows} context={common} />
      ))}
    </div>
  );
}

/** The line whose number an event is about. */
function placeOf(file: PatchFile, event: MouseEvent): Place | undefined {
  const button = (event.target as HTMLElement).closest<HTMLElement>('button.number');
  return button === null ? undefined : placeAt(file, button);
}

function placeAt({ path }: PatchFile, { dataset }: HTMLElement): Place | undefined {
  const line = Number(dataset.line);
  return Number.isInteger(line) ? { path, side: dataset.side === 'old' ? 'old' : 'new', line } : undefined;
}

function toBlocks({ hunks }: PatchFile, isSplit: boolean): BlockRow[][] {
  const rows = hunks.flatMap((hunk): BlockRow[] => [
    { hunk, isHeader: true },
    ...(isSplit ? toSplitRows(hunk) : toUnifiedRows(hunk)).map((row) => ({ hunk, ...row })),
  ]);
  return Array.from({ length: Math.ceil(rows.length / BLOCK_ROWS) }, (_, index) =>
    rows.slice(index * BLOCK_ROWS, (index + 1) * BLOCK_ROWS),
  );
}
