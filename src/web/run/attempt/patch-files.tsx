import type { JSX } from 'preact';
import { useReducer, useRef } from 'preact/hooks';
import { safeLine } from '../../../core/text/safe-text.ts';
import { Counts, DiffFile, PatchLines, PatchNotes } from '../../review/diff-file.tsx';
import { useDiffView, useStickyTop } from '../../review/diff-view.tsx';
import type { Patch, PatchFile } from '../../../core/review/read-patch.ts';
import { describeFile } from '../../review/diff-rows.ts';
import { reviewAfter } from '../../review/review-state.ts';

/** What a diff on which people do not comment has no need of. */
const READ_ONLY = {
  mayComment: false,
  comments: [],
  draft: undefined,
  chosen: undefined,
  target: undefined,
} as const;

interface PatchFilesProps {
  patch: Patch;
  /** Links to other views of the change. */
  links: JSX.Element;
}

/** The files of a patch, drawn as in the review, below a list that leads to each of them. */
export function PatchFiles({ patch, links }: PatchFilesProps): JSX.Element {
  const { files, notes } = patch;
  const root = useRef<HTMLDivElement>(null);
  const { isSplit, choice } = useDiffView();
  const [{ toggled }, dispatch] = useReducer(reviewAfter, { comments: [], message: '', viewed: [], toggled: {} });
  useStickyTop(root);
  return (
    <div class="patch-files" ref={root}>
      <div class="section-head">
        <ul class="changes" aria-label="Changed files">
          {files.map((file, index) => (
            <li key={file.path}>
              <button
                type="button"
                class="link"
                onClick={() => document.getElementById(`patch-${index}`)?.scrollIntoView()}
              >
                <code>{safeLine(file.path)}</code>
              </button>{' '}
              <Counts file={file} />
            </li>
          ))}
        </ul>
        <span class="line">
          {choice}
          {links}
        </span>
      </div>
      <PatchNotes notes={notes} />
      {files.map((file, index) => (
        <DiffFile
          key={file.path}
          {...READ_ONLY}
          id={`patch-${index}`}
          file={file}
          isSplit={isSplit}
          isViewed={undefined}
          isToggled={toggled[file.path]}
          isProtected={false}
          criteria=""
          dispatch={dispatch}
        />
      ))}
    </div>
  );
}

/** An attempt of a comparison, with its change of a file; `file` is undefined if it does not change it. */
interface ComparedSide {
  attempt: number;
  href: string;
  file: PatchFile | undefined;
}

/** How two attempts change a file, side by side; one below the other in a narrow window. */
export function ComparedFile({ path, sides }: { path: string; sides: readonly ComparedSide[] }): JSX.Element {
  const [left, right] = sides.map(({ file }) => file);
  const isSame = left !== undefined && right !== undefined && contentOf(left) === contentOf(right);
  return (
    <div class={`compared-file${isSame ? ' is-same' : ''}`}>
      {isSame && <p class="soft">Both attempts change it in the same way.</p>}
      {(isSame ? sides.slice(0, 1) : sides).map(({ attempt, href, file }) => (
        <section key={attempt} class="card" aria-label={`${safeLine(path)} in attempt ${attempt}`}>
          {!isSame && (
            <p class="head">
              <a href={href}>Attempt {attempt}</a> {file !== undefined && <Counts file={file} />}
            </p>
          )}
          {file === undefined && <p class="soft notes">Attempt {attempt} does not change it.</p>}
          {file !== undefined && describeFile(file).length > 0 && (
            <p class="soft notes">{describeFile(file).join(' ')}</p>
          )}
          {file !== undefined && <PatchLines {...READ_ONLY} file={file} isSplit={false} dispatch={ignore} />}
        </section>
      ))}
    </div>
  );
}

/** A text that is equal for two files of patches if they change a file in the same way. */
export function contentOf({ status, from, modes, isBinary, hunks }: PatchFile): string {
  return JSON.stringify([status, from, modes, isBinary, hunks]);
}

function ignore(): void {
  // There is nothing to choose or to comment on.
}
