import { useLayoutEffect, useReducer } from 'preact/hooks';
import { keep, readKept } from '../page/browser-storage.ts';

/** Lines of one side of a file. */
export interface Place {
  path: string;
  side: 'new' | 'old';
  line: number;
  /** The last line, if there are several. */
  endLine?: number;
}

/** A comment that is not sent yet. */
export interface UnsentComment extends Place {
  id: string;
  text: string;
  /** The commit whose lines it is about, as far as it was known. */
  commit?: string;
}

/** A comment that is being written; `id` if it is changed. */
export type CommentDraft = Omit<UnsentComment, 'id'> & { id?: string };

/** What a person has written and seen of a review. */
export interface ReviewState {
  comments: UnsentComment[];
  message: string;
  draft?: CommentDraft;
  /** Paths of files that were viewed. */
  viewed: string[];
  /** Lines that are chosen while a person drags, or moves with Shift; `anchor` is the first chosen one. */
  chosen?: (Place & { anchor: number }) | undefined;
  /** Lines to scroll to; `count` differs between requests for the same ones. */
  target?: (Place & { count: number; isVisible?: true }) | undefined;
  /** Files that are shown although they are collapsed by default, or the opposite. */
  toggled: Record<string, boolean>;
}

export type ReviewAction =
  | { type: 'choose'; place: Place; isRange?: boolean }
  | { type: 'write'; place?: Place; text?: string }
  | { type: 'edit'; comment: UnsentComment }
  | { type: 'save'; commit?: string }
  | { type: 'cancel' }
  | { type: 'remove'; id: string }
  | { type: 'message'; text: string }
  | { type: 'sent' }
  | { type: 'view'; path: string; isViewed: boolean }
  | { type: 'toggle'; path: string; isOpen: boolean }
  | { type: 'show'; place: Place };

/** The state of a review after an action. */
export function reviewAfter(state: ReviewState, action: ReviewAction): ReviewState {
  const { draft, chosen, ...rest } = state;
  switch (action.type) {
    case 'choose':
      return { ...state, chosen: toChosen(action.isRange === true ? chosen : undefined, action.place) };
    case 'write': {
      const { place = chosen ?? draft, text } = action;
      if (place === undefined) return state;
      if (text !== undefined) return draft === undefined ? state : { ...state, draft: { ...draft, text } };
      // What was written about other lines is kept, as a comment of its own.
      const { path, side, line, endLine } = place;
      const fresh = { path, side, line, ...(endLine !== undefined && { endLine }), text: '' };
      return { ...saved(rest, draft), draft: fresh, chosen: { ...fresh, anchor: line } };
    }
    case 'edit':
      return { ...saved(rest, draft), draft: action.comment, target: targetOf(state, action.comment) };
    case 'save':
      return left(
        saved(rest, draft && { ...draft, ...(action.commit !== undefined && { commit: action.commit }) }),
        draft,
      );
    case 'cancel':
      return left(rest, draft);
    case 'remove':
      return { ...state, comments: state.comments.filter(({ id }) => id !== action.id) };
    case 'message':
      return { ...state, message: action.text };
    case 'sent':
      return { ...rest, comments: [], message: '' };
    case 'view': {
      const { path, isViewed } = action;
      const viewed = state.viewed.filter((other) => other !== path);
      const toggled = Object.fromEntries(Object.entries(state.toggled).filter(([other]) => other !== path));
      return { ...state, viewed: isViewed ? [...viewed, path] : viewed, toggled };
    }
    case 'toggle':
      return { ...state, toggled: { ...state.toggled, [action.path]: action.isOpen } };
    case 'show': {
      const toggled = { ...state.toggled, [action.place.path]: true };
      return { ...state, toggled, target: targetOf(state, action.place) };
    }
  }
}

/** The state after the editor has closed: the focus goes back to its line, which is visible. */
function left(state: ReviewState, draft: CommentDraft | undefined): ReviewState {
  const target = draft && targetOf(state, draft);
  return target === undefined ? state : { ...state, target: { ...target, isVisible: true } };
}

function targetOf({ target }: ReviewState, { path, side, line, endLine }: Place): ReviewState['target'] {
  return { path, side, line, ...(endLine !== undefined && { endLine }), count: (target?.count ?? 0) + 1 };
}

/** The lines from the first chosen one to another one, if they are of the same side of the same file. */
function toChosen(first: ReviewState['chosen'], { path, side, line: to }: Place): ReviewState['chosen'] {
  const anchor = first?.path === path && first.side === side ? first.anchor : to;
  const [line, endLine] = anchor <= to ? [anchor, to] : [to, anchor];
  return { path, side, line, anchor, ...(endLine > line && { endLine }) };
}

function saved(state: ReviewState, draft: CommentDraft | undefined): ReviewState {
  if (draft === undefined || draft.text.trim() === '') return state;
  const comment = { ...draft, id: draft.id ?? newId(state.comments) };
  const others = state.comments.filter(({ id }) => id !== comment.id);
  return { ...state, comments: [...others, comment] };
}

function newId(comments: readonly UnsentComment[]): string {
  return String(1 + Math.max(0, ...comments.map(({ id }) => Number(id) || 0)));
}

/** The comments with the one that is being written. */
export function allComments({ comments, draft }: Pick<ReviewState, 'comments' | 'draft'>): UnsentComment[] {
  return saved({ comments, message: '', viewed: [], toggled: {} }, draft).comments;
}

/** The comments as the server takes them. */
export function toSent(comments: readonly UnsentComment[]) {
  return comments.map(({ path, side, line, endLine, text }) => ({
    ...{ path, side, line, text },
    ...(endLine !== undefined && { endLine }),
  }));
}

/** E.g. `line 12`, `lines 12 to 14` or `old line 12`. */
export function describePlace({ side, line, endLine }: Omit<Place, 'path'>): string {
  const old = side === 'old' ? 'old ' : '';
  return endLine === undefined ? `${old}line ${line}` : `${old}lines ${line} to ${endLine}`;
}

/** Whether a line is one of a place. */
export function isIn(place: Place, { path, side, line }: Place): boolean {
  return place.path === path && place.side === side && line >= place.line && line <= (place.endLine ?? place.line);
}

/**
 * The state of a review. Comments are kept in the browser by user, run and story until they are sent, and viewed files by
 * commit.
 */
export function useReview(of: string, commit: string | undefined): [ReviewState, (action: ReviewAction) => void] {
  const [writtenKey, viewedKey] = [`halo comments ${of}`, `halo viewed ${of} ${commit ?? ''}`];
  const [state, dispatch] = useReducer(reviewAfter, undefined, (): ReviewState => ({
    ...{ comments: [], message: '', ...readKeptJson<Partial<ReviewState>>(writtenKey) },
    viewed: readKeptJson<string[]>(viewedKey) ?? [],
    toggled: {},
  }));
  const { comments, message, draft, viewed } = state;
  // Before the next paint: a reload must not lose the last letters.
  useLayoutEffect(() => {
    const isEmpty = comments.length === 0 && message === '' && draft === undefined;
    keep(writtenKey, isEmpty ? undefined : JSON.stringify({ comments, message, draft }));
  }, [comments, message, draft]);
  useLayoutEffect(() => keep(viewedKey, viewed.length === 0 ? undefined : JSON.stringify(viewed)), [viewed]);
  const act = (action: ReviewAction) => {
    // The review may be replaced before its next effect.
    if (action.type === 'sent') keep(writtenKey, undefined);
    dispatch(action);
  };
  return [state, act];
}

/** A value that this browser keeps as JSON. */
function readKeptJson<T>(key: string): T | undefined {
  const text = readKept(key);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}
