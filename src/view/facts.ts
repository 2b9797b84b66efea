import type { RunView } from '../api/operations/runs.ts';
import { describeKeyPause } from '../core/failure/model-use.ts';
import { plainReason } from '../core/failure/plain-reason.ts';
import { describeStart, type StartFact, type StartFacts } from '../core/journal/start-facts.ts';
import { findStoryFindings, findStoryNotes, type StoryFinding, type StoryNote } from '../core/review/story-findings.ts';
import { MESSAGE_WORDS, messageState, type StoryMessage } from '../core/run/messages.ts';
import { priorityText } from '../core/run/priority.ts';
import { PROGRESS } from '../core/run/progress.ts';
import { questionLines } from '../core/run/questions.ts';
import { decisiveStory, isDone, isUnfinished, needsPerson, type RunState, type StoryState } from '../core/run/state.ts';
import { unmarkedAdvice } from '../core/run/unmarked-stories.ts';
import { formatElapsed, msBetween } from '../core/text/format-elapsed.ts';
import { safeLine } from '../core/text/safe-text.ts';
import type { Tone } from '../core/transcript/transcript-line.ts';
import { isRecord } from '../lib/guards.ts';
import { listSome } from '../lib/text.ts';
import { ageText } from './ages.ts';
import { timeText } from './run-words.ts';
import { usageText } from './usage-text.ts';
import { whyRunWaits, type WaitingRun } from './waiting.ts';

/** What a fact is about: a surface selects and leaves out facts by it. */
export type FactKind =
  | StoryFinding['kind']
  | StartFact['kind']
  | StoryNote['kind']
  | 'asks'
  | 'base'
  | 'failed'
  | 'message'
  | 'option'
  | RunFactKind;

type RunFactKind =
  | (
      | 'agent'
      | 'batch'
      | 'branch'
      | 'commits'
      | 'decided'
      | 'key'
      | 'moved'
      | 'pause'
      | 'prd'
      | 'priority'
      | 'project'
      | 'pull'
    )
  | ('repo' | 'reports' | 'settings' | 'snapshot' | 'stories' | 'time' | 'unmarked' | 'used' | 'user' | 'waiting')
  | 'worktree';

/** Labels that differ from the kind. */
const LABELS: Partial<Record<FactKind, string>> = { model: 'chosen', option: '', pause: 'waiting' };

/** Something about a run or story for people. Safe to print. */
export interface Fact {
  kind: FactKind;
  label: string;
  value: string;
  tone?: Tone;
  /** While the story runs, the facts of its run have it as well. */
  passing?: true;
}

const MAX_NAMED = 20;
const MAX_ISSUES = 10;
const MAX_TEXT_LENGTH = 4_000;
const MAX_DETAIL_LENGTH = 200;
/** The newest ones. */
const MAX_MESSAGES = 5;
/** Of a stack. */
const MAX_PULLS = 20;

/** The facts of a story that a person should know, on every surface. The most important ones come first. */
export function storyFacts(story: StoryState): Fact[] {
  return [
    ...baseRow(story),
    ...findStoryFindings(story).flatMap(({ kind, text }) => warning(kind, text)),
    ...findStoryNotes(story).flatMap(({ kind, text, tone }) => (tone === 'warn' ? warning : fact)(kind, text)),
    ...startRows(story),
    ...(story.messages ?? []).slice(-MAX_MESSAGES).flatMap((message) => fact('message', messageText(story, message))),
  ];
}

function messageText(story: StoryState, message: StoryMessage): string {
  return `${message.by}, ${MESSAGE_WORDS[messageState(story, message)]}: ${message.text}`;
}

/** The same in lists of stories, which leave out what is of interest for one story only. */
export function listedFacts(story: StoryState): Fact[] {
  return storyFacts(story).filter(({ kind, passing }) => kind !== 'services' && !passing);
}

/** What an attempt starts with, if that is not what the run says. */
export function startRows(start: StartFacts): Fact[] {
  return describeStart(start).flatMap(({ kind, text, passing }) =>
    fact(kind, text).map((each) => ({ ...each, ...(passing && { passing }) })),
  );
}

/** Why the last attempt at a story failed or what it asks, with its options. Empty for a story that is done or left out. */
export function outcomeFacts(story: StoryState): Fact[] {
  const { progress, summary = '', stopReason, lastFailure } = story;
  if (needsPerson(story))
    return [
      ...warning('asks', summary === '' ? PROGRESS[progress].says : summary),
      ...questionLines(story).flatMap((line) => warning('option', line)),
    ];
  if (progress !== 'failed' && (!isUnfinished(story) || summary === '')) return [];
  const reason = plainReason(stopReason ?? 'UNKNOWN_ERROR', lastFailure);
  return warning('failed', summary === '' ? reason : `${reason}: ${summary}`);
}

/** The story that explains how a run is: the one that decided its end, else the first that runs, asks a person or failed. */
export function storyToShow(run: RunState): StoryState | undefined {
  const decisive = run.status === 'ended' ? decisiveStory(run) : undefined;
  if (decisive !== undefined) return decisive;
  const isRunning = ({ progress }: StoryState) => run.status !== 'ended' && progress === 'in_progress';
  const isFailed = ({ progress }: StoryState) => progress === 'failed';
  return [isRunning, needsPerson, isFailed].flatMap((matches) => run.stories.find(matches) ?? [])[0];
}

/** The agent of a run, and those that stories of it have instead. */
function agentsText({ agent = '', stories }: RunState): string {
  const others = new Set(stories.flatMap(({ choice }) => choice?.agent ?? []));
  others.delete(agent);
  return others.size === 0 ? agent : `${agent}; for some stories ${listSome([...others], MAX_NAMED)}`;
}

/** What is known about a run in addition to its state, in the order of `halo status`; surfaces without room show some of it. */
export function runFacts(
  view: WaitingRun & Pick<Partial<RunView>, 'reports' | 'pull' | 'unused' | 'moved' | 'record' | 'dir'>,
  now: string,
): Fact[] {
  const { state } = view;
  const { project, repo, prdPath, usage } = state;
  return [
    ...fact('project', project),
    ...fact('repo', `${repo.source}${repo.branch === undefined ? '' : ` (${repo.branch})`}`),
    ...fact('prd', prdPath),
    ...fact('agent', agentsText(state)),
    ...selectionRow(state),
    ...unmarkedRow(state),
    ...settingsRows(state, now),
    ...decisionRow(state),
    ...whyRunWaits(view).flatMap((text) => warning('waiting', text)),
    ...submissionFacts(state),
    ...fact('time', timeText(state, now)),
    ...fact('used', usageText(usage)),
    ...modelRows({ state }, now),
    ...snapshotRow(state),
    ...reportsRow(view, now),
    ...branchRow(state),
    ...fact('commits', commitsText({ state })),
    ...(view.moved === undefined ? [] : warning('moved', movedText(view.moved))),
    ...worktreeRow(view),
    ...pullRows(view, now),
  ];
}

/** Empty if there is no value. */
function fact(kind: FactKind, value: string): Fact[] {
  return value === '' ? [] : [{ kind, label: LABELS[kind] ?? kind, value: safeLine(value, MAX_TEXT_LENGTH) }];
}

function warning(kind: FactKind, value: string): Fact[] {
  return fact(kind, value).map((each) => ({ ...each, tone: 'warn' }));
}

/** The gate that failed fails without the work of the story, too. */
function baseRow({ progress, lastFailure, question }: StoryState): Fact[] {
  const cause = progress === 'needs_human' ? question?.cause : lastFailure?.cause;
  if (isDone({ progress })) return [];
  if (cause === 'base-broken') return warning('base', 'the failed gate fails on the base commit in the same way');
  return cause === 'base-fails' ? warning('base', 'the failed gate fails on the base commit as well') : [];
}

/** Where the result is checked out, with `[land] mode = "worktree"`. */
function worktreeRow({
  state,
  record,
  dir,
}: Pick<RunView, 'state'> & Partial<Pick<RunView, 'record' | 'dir'>>): Fact[] {
  const config = record?.['config'];
  const land = isRecord(config) ? config['land'] : undefined;
  if (dir === undefined || !isRecord(land) || land['mode'] !== 'worktree') return [];
  const path = dir.replace(/runs\/(?=[^/]+$)/, 'worktrees/');
  if (state.status !== 'ended') return fact('worktree', `${path} at the end`);
  return state.stopReason === 'SUCCESS' ? fact('worktree', path) : [];
}

/** Shown while a snapshot is being made, and if there cannot be one. */
function snapshotRow({ snapshot, stories, status }: RunState): Fact[] {
  if (snapshot === undefined || status === 'ended') return [];
  if (snapshot.state === 'refused')
    return warning('snapshot', `none, setup runs for each workspace: ${snapshot.reason ?? ''}`);
  const isBuilding = stories.some(({ id, phase }) => id === snapshot.story && (phase === 'setup' || phase === 'gates'));
  return fact('snapshot', isBuilding ? `setup of ${snapshot.story} makes one` : '');
}

/** Stories that landed without being marked in the PRD file. */
function unmarkedRow({ unmarked }: RunState): Fact[] {
  return warning('unmarked', unmarked === undefined ? '' : safeLine(unmarkedAdvice(unmarked), 500));
}

/** The stories that were selected at submit. */
function selectionRow({ selected, stories }: RunState): Fact[] {
  if (selected === undefined) return [];
  return fact('stories', `${listSome(selected, MAX_NAMED)}, of ${stories.length} in the PRD`);
}

/** Settings that users changed after the run was created. */
function settingsRows({ reconfigured = [] }: RunState, now: string): Fact[] {
  return reconfigured.flatMap(({ by, at, set }) =>
    fact('settings', `${set.join(', ')} (by ${by}, ${ageText(at, now)})`),
  );
}

/** A person's decision on the result of the run. */
function decisionRow({ decision, tip, status }: RunState): Fact[] {
  if (decision === undefined || decision.tip !== tip || status !== 'ended') return [];
  const { verdict, by, reason } = decision;
  return fact('decided', `${verdict} by ${by}${reason === undefined ? '' : `: ${reason}`}`);
}

/** The user, priority and batch of the run. */
function submissionFacts({ user, priority, batch }: RunState): Fact[] {
  return [
    ...fact('user', user),
    ...fact('priority', priorityText(priority) ?? ''),
    ...fact('batch', batch === undefined ? '' : `${batch.id}, as ${batch.name}`),
  ];
}

/** The issues that do not show the progress of their stories, and why. */
function reportsRow({ reports }: Pick<Partial<RunView>, 'reports'>, now: string): Fact[] {
  if (reports === undefined) return [];
  const { stories, why, retryAt } = reports;
  const which = stories.length === 0 ? 'issues' : `issues ${listSome(stories, MAX_ISSUES)}`;
  const reason = why ?? 'a worker reports it';
  return fact('reports', `${which} do not show the progress yet: ${reason}${retryText(retryAt, now)}`);
}

function retryText(retryAt: string | undefined, now: string): string {
  if (retryAt === undefined) return '';
  const left = msBetween(now, retryAt);
  return left > 0 ? ` Next try in ${formatElapsed(left)}.` : ' Next try now.';
}

/** The pull requests of the run, the newest last, and why they are not as they should be. */
function pullRows(
  { state, pull, unused = [] }: Pick<RunView, 'state'> & Pick<Partial<RunView>, 'pull' | 'unused'>,
  now: string,
): Fact[] {
  const pages = (state.pulls ?? []).slice(-MAX_PULLS).flatMap(({ number, url, ended }) => {
    const after = ended === undefined ? '' : ` (${ended})`;
    return fact('pull', `#${number} ${url}${after}`);
  });
  const why = pull && `${pull.why}${retryText(pull.retryAt, now)}`;
  const notes = unused.flatMap((each) => fact('pull', each));
  return [...pages, ...fact('pull', why ?? ''), ...notes];
}

/** Where the commits will be. */
function branchRow({ runId, tip, repo, dry, status }: RunState): Fact[] {
  return tip !== repo.base || dry === true || status === 'ended' ? [] : fact('branch', `halo/${runId}, no commit yet`);
}

/** Why the branch to land on cannot be fast-forwarded. */
export function movedText({ branch, commits }: NonNullable<RunView['moved']>): string {
  const lacks = commits === 1 ? 'a commit that the run lacks' : `${commits} commits that the run lacks`;
  return `${safeLine(branch)} has moved since: it has ${lacks}, so it cannot be fast-forwarded.`;
}

function commitsText({ state }: Pick<RunView, 'state'>): string {
  if (state.tip === state.repo.base) return '';
  const range = `${state.repo.base.slice(0, 7)}..${state.tip.slice(0, 7)} on halo/${state.runId}`;
  return state.landed === undefined ? range : `${range}, landed on ${safeLine(state.landed.branch)}`;
}

/** Rows about the models of an open run: delayed requests, keys that are not used, and stories with another model. */
function modelRows({ state }: Pick<RunView, 'state'>, now: string): Fact[] {
  if (state.status === 'ended') return [];
  const keys = (state.keyPauses ?? []).filter(({ until }) => until > now);
  const started = state.stories
    .filter(({ progress }) => progress === 'in_progress')
    .flatMap((story) => startRows(story).map((each) => ({ ...each, value: `${safeLine(story.id)}: ${each.value}` })));
  return [
    ...pauseRow({ state }, now),
    ...keys.flatMap((each) => fact('key', safeLine(describeKeyPause(each, now), MAX_DETAIL_LENGTH))),
    ...started.filter(({ passing }) => passing),
  ];
}

/** Shown while requests for a model are delayed. */
function pauseRow({ state }: Pick<RunView, 'state'>, now: string): Fact[] {
  const { modelPause: pause } = state;
  // A story that waits for the model has a line of its own.
  const isShown = state.stories.some(({ waiting }) => waiting?.model !== undefined);
  if (pause === undefined || pause.until <= now || isShown) return [];
  const why = pause.why === 'rate' ? 'the configured rate is reached' : 'the provider asked for a pause';
  return fact(
    'pause',
    `no requests for ${pause.model} in the next ${formatElapsed(msBetween(now, pause.until))}: ${why}`,
  );
}
