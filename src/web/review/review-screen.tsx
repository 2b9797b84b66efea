import { LandAction } from './land-action.tsx';
import { ACTION_KEYS } from '../../view/action-keys.ts';
import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { EmptyState, Problem, type Person } from '../page/page-parts.tsx';
import { readText, runPath, useLoaded } from '../page/read-server.ts';
import { CopyButton, ShellCommands } from '../page/copy-button.tsx';
import type { ReviewFinding } from '../../core/review/agent-review.ts';
import { AgentReviewFact } from './agent-findings.tsx';
import { CommentPanel, EarlierFeedback } from './comment-panel.tsx';
import { CriteriaList } from './criteria-list.tsx';
import { DiffFile, PatchNotes } from './diff-file.tsx';
import { useDiffView, useStickyTop } from './diff-view.tsx';
import { fileCount, FileTree, toTreeOrder } from './file-tree.tsx';
import { AgentSummary } from './facts/agent-summary.tsx';
import { earlierRounds, SinceChoice, SinceDiff } from './facts/since-diff.tsx';
import { StoryDoubts } from './facts/story-doubts.tsx';
import { commitToReview, openFeedback } from '../../core/run/reviewed-story.ts';
import { reviewedCommit, useRunReview, type RunReview } from './load-review.ts';
import { readPatch, type Patch, type PatchFile } from '../../core/review/read-patch.ts';
import { decisionsOf, flaggedOf, ReviewActions, SendBack, shellSteps } from './review-actions.tsx';
import { ReviewFacts } from './review-facts.tsx';
import { describeNothing, OutcomeNotice, SentBack } from './review-outcome.tsx';
import { useCurrentFile, useReviewKeys } from './review-keys.ts';
import { allComments, isIn, useReview, type Place, type UnsentComment } from './review-state.ts';
import { storyWords } from '../../view/story-words.ts';

interface ReviewProps {
  runId: string;
  /** Undefined: what the whole run landed. */
  story: string | undefined;
  run: ListedRun | undefined;
  person: Person;
}

/** The diff of a run or story with what a reviewer has to know, comments that start the story again, and the decision. */
export function ReviewScreen({ runId, story, run, person }: ReviewProps): JSX.Element {
  const { value: review, problem } = useRunReview(runId, run);
  const found = review?.state.stories.find(({ id }) => id === story);
  const commit = review && reviewedCommit(review.state, found);
  const of = `${runId} ${story ?? ''}`;
  // Until the server reports what was sent back, its commit is not shown again.
  const [sent, setSent] = useState<{ of: string; commit: string | undefined }>();
  const feedback = found && openFeedback(found);
  const wasSent = sent?.of === of && found !== undefined && commitToReview(found) === sent.commit;
  const isSentBack = feedback !== undefined || wasSent;
  const isKnown = review !== undefined && (story === undefined || found !== undefined);
  const nothing = isKnown ? describeNothing(review.state, found) : undefined;
  const hasDiff = review !== undefined && !isSentBack && nothing === undefined;
  const version = hasDiff ? (commit ?? `attempt ${found?.attempts}`) : undefined;
  const query = story === undefined ? '' : `?story=${encodeURIComponent(story)}`;
  const diff = useLoaded(`${runId} ${story ?? ''} ${version ?? ''}`, async () =>
    version === undefined ? undefined : readPatch(await readText(runPath(runId, `/diff${query}`))),
  );
  // Only the server knows whether an attempt without a commit left a diff.
  const hasLeftNothing =
    found !== undefined && commit === undefined && diff.problem?.status === 404 && review?.state.pruned === undefined;
  const failed = problem ?? (hasLeftNothing ? undefined : diff.problem);
  const pull = review?.state.pull;
  const [result, setResult] = useState<{ of: string; text: string }>();
  return (
    <>
      <h1>
        Review {story === undefined ? <code>{runId}</code> : safeText(story)}{' '}
        <span class="soft">{safeText(found?.title ?? review?.state.project ?? '')}</span>
      </h1>
      <p class="line">
        <a href={`#/run/${runId}`}>Run {runId}</a>
        {found !== undefined && <span class="soft">{safeText(review?.state.project ?? '')}</span>}
        {commit !== undefined && (
          <span>
            <code class="soft">{commit.slice(0, 12)}</code> <CopyButton text={commit} name="the commit" />
          </span>
        )}
        {pull !== undefined && /^https?:/.test(pull.url) && (
          <a href={pull.url} rel="noreferrer">
            Pull request {pull.number}
          </a>
        )}
      </p>
      {review !== undefined && <StoryLinks review={review} story={story} />}
      {result?.of === of && (
        <p class="notice good" role="status">
          {safeText(result.text)}
        </p>
      )}
      {isSentBack && (
        <SentBack
          feedback={feedback}
          at={found && review?.sentBackAt[found.id]}
          isRunning={found?.progress === 'in_progress'}
        />
      )}
      {isKnown && !isSentBack && <OutcomeNotice state={review.state} story={found} />}
      {failed !== undefined && <Problem problem={failed} />}
      {hasLeftNothing && <EmptyState title="The last attempt left no diff." />}
      {!isSentBack && nothing !== undefined && <EmptyState title={safeText(nothing)} />}
      {(!hasDiff || diff.problem !== undefined) && <EarlierFeedback feedback={found?.feedback ?? []} />}
      {diff.value === undefined && failed === undefined && !hasLeftNothing && (hasDiff || review === undefined) && (
        <EmptyState title="Reading the diff …" />
      )}
      {hasDiff && diff.value !== undefined && (
        <Review
          key={`${of} ${version}`}
          {...{ runId, story, review, person, commit }}
          patch={diff.value}
          onResult={(text) => setResult({ of, text })}
          onSent={() => setSent({ of, commit })}
        />
      )}
    </>
  );
}

/** Links to the reviews of the stories that have something to review. */
function StoryLinks({ review, story }: { review: RunReview; story: string | undefined }): JSX.Element {
  const { runId, stories } = review.state;
  return (
    <nav class="story-links" aria-label="Stories of the run">
      <a href={`#/run/${runId}/diff`} aria-current={story === undefined ? 'page' : undefined}>
        Whole run
      </a>
      {stories
        .filter(({ attempts }) => attempts > 0)
        .map((each) => ({ id: each.id, words: storyWords(each, review.state, new Date().toISOString()) }))
        .map(({ id, words }) => (
          <a
            key={id}
            href={`#/run/${runId}/diff/${encodeURIComponent(id)}`}
            aria-current={story === id ? 'page' : undefined}
          >
            {safeText(id)} <span class={words.tone}>{words.short}</span>
          </a>
        ))}
    </nav>
  );
}

interface ReviewOfProps extends Omit<ReviewProps, 'run'> {
  review: RunReview;
  patch: Patch;
  commit: string | undefined;
  onResult: (text: string) => void;
  onSent: () => void;
}

function Review({ runId, story, review, person, patch, commit, onResult, onSent }: ReviewOfProps): JSX.Element {
  const [state, dispatch] = useReview(`${person.name} ${runId} ${story ?? ''}`, commit);
  const [panel, setPanel] = useState<'comments' | 'message'>();
  const root = useRef<HTMLDivElement>(null);
  const { isSplit, isNarrow, choice } = useDiffView();
  const [since, setSince] = useState<number>();
  const current = useCurrentFile();
  useStickyTop(root);
  const files = useMemo(() => toTreeOrder(patch.files), [patch]);
  const found = review.state.stories.find(({ id }) => id === story);
  // The diff of a run has only what landed.
  const landed = new Set(review.state.stories.filter(({ commit }) => commit !== undefined).map(({ id }) => id));
  const reviews = review.stories.filter(({ id }) => (story === undefined ? landed.has(id) : id === story));
  const decisions = decisionsOf(person, review.state, found, files.length > 0);
  const { draft, chosen, target, message, viewed, toggled } = state;
  const comments = allComments(state);
  const byPath = useMemo(() => groupByPath(state.comments), [state.comments]);
  const criteria = useMemo(() => criteriaByPath(files, reviews[0]?.criteria ?? []), [files, review]);
  const reviewed = reviews.length === 1 ? reviews[0]?.reviewed : undefined;
  const findings = useMemo(() => groupByPath(reviewed?.findings ?? []), [reviewed]);
  const protectedPaths = found?.held?.paths ?? NO_PATHS;
  const onShow = (place: Place) => {
    setSince(undefined);
    dispatch({ type: 'show', place });
  };
  const onFile = (path: string) =>
    document.getElementById(`file-${files.findIndex((file) => file.path === path)}`)?.scrollIntoView();
  const onViewed = (path: string) => dispatch({ type: 'view', path, isViewed: !viewed.includes(path) });
  const onComment = (first: Place) => {
    const place = chosen !== undefined && isIn(chosen, first) ? chosen : first;
    dispatch({ type: 'show', place });
    dispatch({ type: 'write', place });
  };
  const keys = { onShow, onFile, onViewed, onComment: decisions.sendBack ? onComment : undefined };
  // The other diff has no comments, and is not marked as viewed.
  useReviewKeys(since === undefined ? files : NO_FILES, keys);
  const counts = Object.fromEntries([...byPath].map(([path, { length }]) => [path, length]));
  const isEmpty = comments.length === 0 && message.trim() === '';
  const sendBack = story !== undefined && decisions.sendBack && (
    <SendBack
      onEmpty={isEmpty ? () => setPanel('message') : undefined}
      {...{ runId, story, comments, message }}
      shortcut={ACTION_KEYS.sendBack}
      onSent={() => {
        dispatch({ type: 'sent' });
        onSent();
      }}
    />
  );
  return (
    <div class="review" ref={root}>
      <PatchNotes notes={patch.notes} />
      <div class="fact-line">
        {files.length > 0 && <ReviewFacts {...{ reviews, files, onShow }} held={found?.held} />}
        {files.length > 0 && reviews.length > 1 && <StoryDoubts runId={runId} reviews={reviews} />}
        {story !== undefined && <CriteriaList criteria={reviews[0]?.criteria ?? []} files={files} onShow={onShow} />}
        {reviewed !== undefined && <AgentReviewFact review={reviewed} onShow={onShow} />}
        {found !== undefined && <AgentSummary runId={runId} story={found.id} attempt={found.attempts} />}
      </div>
      <EarlierFeedback feedback={found?.feedback ?? []} />
      <div class="review-bar">
        <SinceChoice rounds={earlierRounds(found, commit)} since={since} onChange={setSince} />
        {since === undefined && (
          <>
            {choice}
            <span class="soft viewed-count">
              {files.filter(({ path }) => viewed.includes(path)).length} of {fileCount(files.length)} viewed
            </span>
            {decisions.sendBack && comments.length === 0 && (
              <span class="soft">
                Click a line number<span class="key-hint">, or press c,</span> to comment.
              </span>
            )}
          </>
        )}
        <span class="decide">
          {decisions.sendBack && (
            <button
              type="button"
              aria-expanded={panel !== undefined}
              onClick={() => setPanel(panel === undefined ? 'comments' : undefined)}
            >
              Your comments ({comments.length})
            </button>
          )}
          {panel === undefined && sendBack}
          <ReviewActions
            {...{ runId, story, decisions, commit, onResult }}
            flagged={review === undefined ? { changes: [], commit } : flaggedOf(review.state, found)}
            unsent={comments.length}
            land={
              decisions.land && review !== undefined ? (
                <LandAction run={review.state} story={found} onDone={onResult} />
              ) : undefined
            }
          />
        </span>
        {panel !== undefined && (
          <CommentPanel {...{ comments, message, files, dispatch }} isMessage={panel === 'message'}>
            <>{sendBack}</>
          </CommentPanel>
        )}
      </div>
      <ShellCommands steps={shellSteps(runId, story, decisions)} />
      {since !== undefined && found !== undefined ? (
        <SinceDiff {...{ runId, since, commit }} story={found.id} />
      ) : files.length === 0 ? (
        <EmptyState title="The diff is empty." />
      ) : (
        <div class="review-columns">
          <details class="side" open={!isNarrow} key={String(isNarrow)}>
            <summary>Files ({files.length})</summary>
            <FileTree
              {...{ files, viewed, protectedPaths, current }}
              comments={JSON.stringify(counts)}
              onOpen={onFile}
            />
          </details>
          <div class="diffs">
            {files.map((file, index) => {
              const ofFile = <T extends { path: string }>(place: T | undefined) =>
                place?.path === file.path ? place : undefined;
              return (
                <DiffFile
                  key={file.path}
                  id={`file-${index}`}
                  file={file}
                  isSplit={isSplit}
                  mayComment={decisions.sendBack}
                  comments={byPath.get(file.path) ?? NO_COMMENTS}
                  findings={findings.get(file.path) ?? NO_FINDINGS}
                  draft={ofFile(draft)}
                  chosen={ofFile(chosen)}
                  target={ofFile(target)}
                  isViewed={viewed.includes(file.path)}
                  isToggled={toggled[file.path]}
                  isProtected={protectedPaths.includes(file.path)}
                  criteria={criteria.get(file.path) ?? ''}
                  dispatch={dispatch}
                />
              );
            })}
          </div>
        </div>
      )}
    </div>
  );
}

const NO_COMMENTS: readonly UnsentComment[] = [];
const NO_FINDINGS: readonly ReviewFinding[] = [];
const NO_PATHS: readonly string[] = [];
const NO_FILES: readonly PatchFile[] = [];

function groupByPath<T extends { path?: string }>(said: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const each of said) if (each.path !== undefined) groups.set(each.path, [...(groups.get(each.path) ?? []), each]);
  return groups;
}

/** The numbers of the criteria for which the agent names a file, such as `1, 3`. */
function criteriaByPath(files: readonly PatchFile[], criteria: RunReview['stories'][number]['criteria']) {
  const isNamed = (name: string, path: string) => path === name || path.endsWith(`/${name}`);
  return new Map(
    files.map(({ path }) => {
      const numbers = criteria.filter(({ claim }) => claim?.files.some((name) => isNamed(name, path)));
      return [path, numbers.map(({ n }) => n).join(', ')];
    }),
  );
}
