import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { currentDecision } from '../../core/run/state.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { ActionButton, mayDo, EmptyState, Problem, type Person } from '../page/page-parts.tsx';
import { readPatch, type PatchFile, type PatchLine } from './read-patch.ts';
import { readText, runPath, useLoaded } from '../page/read-server.ts';

interface ReviewProps {
  runId: string;
  /** Undefined: what the whole run landed. */
  story: string | undefined;
  run: ListedRun | undefined;
  person: Person;
}

interface LineComment {
  path: string;
  side: 'new' | 'old';
  line: number;
  text: string;
}

/** The diff of a run or story, with comments that start the story again, and the decision. */
export function ReviewScreen({ runId, story, run, person }: ReviewProps): JSX.Element {
  const query = story === undefined ? '' : `?story=${encodeURIComponent(story)}`;
  const { value, problem } = useLoaded(`${runId} ${story ?? ''}`, () => readText(runPath(runId, `/diff${query}`)));
  const files = useMemo(() => readPatch(value ?? ''), [value]);
  const [comments, setComments] = useState<LineComment[]>([]);
  const held = run?.stories.find(({ id }) => id === story)?.held;
  const waits =
    held !== undefined || (story === undefined && run?.status === 'ended' && currentDecision(run) === undefined);
  const body = story === undefined ? {} : { story };
  const mayDecide = mayDo(person, 'operate');
  return (
    <>
      <h1>Review {story ?? <code>{runId}</code>}</h1>
      <p>
        <a href={`#/run/${runId}`}>Run {runId}</a>
      </p>
      {held !== undefined && held.paths.length > 0 && (
        <div class="notice warn">
          <strong>Protected paths changed</strong>
          <ul>
            {held.paths.map((path) => (
              <li key={path}>
                <code>{path}</code>
              </li>
            ))}
          </ul>
        </div>
      )}
      {problem !== undefined && <Problem problem={problem} />}
      {value === undefined && problem === undefined && <EmptyState title="Reading the diff …" />}
      {value !== undefined && files.length === 0 && <EmptyState title="The diff is empty." />}
      {mayDecide && (
        <div class="actions">
          {waits && (
            <ActionButton label="Approve" shortcut="a" tone="good" path={runPath(runId, '/approve')} body={body} />
          )}
          {comments.length > 0 && (
            <ActionButton
              label={`Send back with ${comments.length} ${comments.length === 1 ? 'comment' : 'comments'}`}
              shortcut="s"
              path={runPath(runId, '/reject')}
              body={{ ...body, comments }}
              onDone={() => setComments([])}
            />
          )}
          {waits && (
            <ActionButton
              label="Reject"
              shortcut="x"
              tone="bad"
              path={runPath(runId, '/reject')}
              body={body}
              question="Reject it for good?"
            />
          )}
        </div>
      )}
      <ul class="files" aria-label="Files">
        {files.map(({ path, added, removed }, index) => (
          <li key={path}>
            <button type="button" onClick={() => document.getElementById(`file-${index}`)?.scrollIntoView()}>
              {safeText(path)} <span class="good">+{added}</span> <span class="bad">−{removed}</span>
            </button>
          </li>
        ))}
      </ul>
      {files.map((file, index) => (
        <FileDiff
          key={file.path}
          id={`file-${index}`}
          file={file}
          comments={comments.filter(({ path }) => path === file.path)}
          onComment={
            mayDecide && story !== undefined
              ? (comment) =>
                  setComments([
                    ...comments.filter((other) => !isSamePlace(other, comment)),
                    ...(comment.text === '' ? [] : [comment]),
                  ])
              : undefined
          }
        />
      ))}
    </>
  );
}

function isSamePlace(a: LineComment, b: LineComment): boolean {
  return a.path === b.path && a.side === b.side && a.line === b.line;
}

interface FileDiffProps {
  id: string;
  file: PatchFile;
  comments: readonly LineComment[];
  onComment: ((comment: LineComment) => void) | undefined;
}

function FileDiff({ id, file, comments, onComment }: FileDiffProps): JSX.Element {
  const [editing, setEditing] = useState<PatchLine>();
  return (
    <section class="file" id={id} aria-label={safeText(file.path)}>
      <h2>
        <code>{safeText(file.path)}</code>
      </h2>
      <div class="patch" tabIndex={0} role="region" aria-label={`Changes of ${safeText(file.path)}`}>
        {file.lines.map((line, index) => {
          const place = placeOf(file.path, line);
          const comment = comments.find((each) => place !== undefined && isSamePlace(each, { ...place, text: '' }));
          return (
            <div key={index} class={line.kind}>
              <span class="number">{line.old}</span>
              {onComment === undefined || place === undefined ? (
                <span class="number">{line.new}</span>
              ) : (
                <button
                  type="button"
                  class="number"
                  aria-label={`Comment on line ${place.line}`}
                  onClick={() => setEditing(line)}
                >
                  {line.new ?? '+'}
                </button>
              )}
              <code>
                {line.kind === 'added' ? '+' : line.kind === 'removed' ? '-' : ' '}
                {safeText(line.text)}
              </code>
              {(editing === line || comment !== undefined) && place !== undefined && (
                <label class="comment">
                  Comment on line {place.line}
                  <textarea
                    rows={2}
                    maxLength={4000}
                    value={comment?.text ?? ''}
                    onInput={({ currentTarget }) => onComment?.({ ...place, text: currentTarget.value })}
                  />
                </label>
              )}
            </div>
          );
        })}
      </div>
    </section>
  );
}

function placeOf(path: string, line: PatchLine): Omit<LineComment, 'text'> | undefined {
  if (line.new !== undefined) return { path, side: 'new', line: line.new };
  return line.old === undefined ? undefined : { path, side: 'old', line: line.old };
}
