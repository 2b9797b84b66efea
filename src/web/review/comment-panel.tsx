import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Feedback } from '../../core/review/feedback.ts';
import { safeText } from '../../core/text/safe-text.ts';
import type { PatchFile } from '../../core/review/read-patch.ts';
import { describePlace, type CommentDraft, type ReviewAction, type UnsentComment } from './review-state.ts';

interface CommentCardProps {
  comment: UnsentComment;
  dispatch: (action: ReviewAction) => void;
  /** In a list of comments: the place, with a link to it, and whether the diff still has it. */
  place?: 'current' | 'gone' | undefined;
}

/** A comment that is not sent yet. */
export function CommentCard({ comment, dispatch, place }: CommentCardProps): JSX.Element {
  const { id, path, text } = comment;
  return (
    <div class={`said-here ${comment.side}`}>
      <p class="line">
        {place === undefined && <b>You, not sent yet</b>}
        {place === undefined && comment.endLine !== undefined && <span class="soft">{describePlace(comment)}</span>}
        {place === 'current' && (
          <button type="button" class="link" onClick={() => dispatch({ type: 'show', place: comment })}>
            {safeText(path)}, {describePlace(comment)}
          </button>
        )}
        {place === 'gone' && (
          <span>
            {safeText(path)}, {describePlace(comment)} <span class="warn">not in this diff</span>
          </span>
        )}
      </p>
      <p class="said">{safeText(text)}</p>
      <p class="line">
        {place !== 'gone' && (
          <button type="button" class="link" onClick={() => dispatch({ type: 'edit', comment })}>
            Edit
          </button>
        )}
        <button type="button" class="link" onClick={() => dispatch({ type: 'remove', id })}>
          Delete
        </button>
      </p>
    </div>
  );
}

/** Ctrl+Enter adds the comment, Escape drops it. */
export function CommentEditor({
  draft,
  dispatch,
}: {
  draft: CommentDraft;
  dispatch: (action: ReviewAction) => void;
}): JSX.Element {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), [draft.path, draft.side, draft.line, draft.endLine]);
  const isEmpty = draft.text.trim() === '';
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape') dispatch({ type: 'cancel' });
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) dispatch({ type: 'save' });
    else return;
    event.preventDefault();
  };
  return (
    <div class={`said-here ${draft.side}`}>
      <label>
        Comment on {describePlace(draft)}
        <textarea
          ref={area}
          rows={3}
          maxLength={4000}
          value={draft.text}
          onInput={({ currentTarget }) => dispatch({ type: 'write', text: currentTarget.value })}
          onKeyDown={press}
        />
      </label>
      <p class="line">
        <button type="button" class="good" disabled={isEmpty} onClick={() => dispatch({ type: 'save' })}>
          {draft.id === undefined ? 'Add comment' : 'Save comment'}
        </button>
        <button type="button" onClick={() => dispatch({ type: 'cancel' })}>
          Cancel
        </button>
        <span class="soft key-hint">Ctrl+Enter adds it, Escape drops it.</span>
      </p>
    </div>
  );
}

interface CommentPanelProps {
  comments: readonly UnsentComment[];
  message: string;
  /** Whether the person wants to write the message. */
  isMessage: boolean;
  files: readonly PatchFile[];
  dispatch: (action: ReviewAction) => void;
  children: JSX.Element;
}

/** The comments that are not sent yet, a general message, and the button that sends both. */
export function CommentPanel(props: CommentPanelProps): JSX.Element {
  const { comments, message, isMessage, files, dispatch, children } = props;
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (isMessage) area.current?.focus();
  }, [isMessage]);
  return (
    <section class="card panel" aria-label="Your comments">
      {comments.length === 0 ? (
        <p class="soft">Click a line number to comment on the line; drag, or click with Shift, for several lines.</p>
      ) : (
        <ul>
          {comments.map((comment) => (
            <li key={comment.id}>
              <CommentCard comment={comment} dispatch={dispatch} place={isShown(files, comment) ? 'current' : 'gone'} />
            </li>
          ))}
        </ul>
      )}
      <label>
        Message about the whole change
        <textarea
          ref={area}
          rows={3}
          maxLength={8000}
          value={message}
          onInput={({ currentTarget }) => dispatch({ type: 'message', text: currentTarget.value })}
        />
      </label>
      <p class="soft">The story starts again with them in its prompt. They stay in this browser until you send them.</p>
      <div class="send">{children}</div>
    </section>
  );
}

/** Whether the diff still has the last line of a comment. */
function isShown(files: readonly PatchFile[], { path, side, line, endLine = line }: UnsentComment): boolean {
  const hunks = files.find((file) => file.path === path)?.hunks ?? [];
  return hunks.some(({ lines }) => lines.some((each) => (side === 'old' ? each.old : each.new) === endLine));
}

/** What people asked for earlier, newest first. */
export function EarlierFeedback({ feedback }: { feedback: readonly Feedback[] }): JSX.Element | null {
  if (feedback.length === 0) return null;
  return (
    <details class="card earlier">
      <summary>
        <h2>Earlier feedback ({feedback.length})</h2>
      </summary>
      <ol>
        {[...feedback].reverse().map(({ by, author, attempt, text, comments }, index) => (
          <li key={index}>
            <b>{safeText(author ?? by)}</b> about attempt {attempt}
            {text !== '' && <p class="said">{safeText(text)}</p>}
            <ul>
              {comments.map(({ path, line, endLine, side, text: said }, at) => (
                <li key={at}>
                  <code>{safeText(path)}</code>
                  {line !== undefined &&
                    `, ${describePlace({ side, line, ...(endLine !== undefined && { endLine }) })}`}
                  : {safeText(said)}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </details>
  );
}
