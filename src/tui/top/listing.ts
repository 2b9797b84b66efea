import { defined } from '../../lib/guards.ts';
import { breakerName } from '../../core/failure/breaker.ts';
import type { EngineOutage } from '../../core/engine/engine-outage.ts';
import type { BreakerView } from '../../api/operations/schemas.ts';
import { inboxItems, inboxLabel, outageItem } from '../../view/inbox.ts';
import type { WorkerView } from '../../api/operations/schemas.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { countTakers } from '../../core/run/fleet-limit.ts';
import { isUnfinished, type RunState, type StoryState } from '../../core/run/state.ts';
import { formatElapsed, msBetween } from '../../core/text/format-elapsed.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { prdListing } from './prds/prd-listing.ts';
import { formatCount } from '../../core/text/format-count.ts';
import { costText } from '../../view/usage-text.ts';
import { currentTopView, findRun, isMatch, type TopView, type TopState } from './model.ts';
import type { Column, Listing, Row } from './table-lines.ts';
import { ageText, whenText } from '../../view/ages.ts';
import { projectName, runWords, storyCount, timeText } from '../../view/run-words.ts';
import { cellOf, storyFigures, storyWords, workText } from '../../view/story-words.ts';
import { whyStoryOrRunWaits } from '../../view/waiting.ts';

/** Of each state, which never changes: a frame and the keys that apply to its selected row need the same rows. */
const listings = new WeakMap<TopState, Listing | undefined>();

/** The rows of the current view that match its filter; undefined for views without rows. */
export function findListing(state: TopState): Listing | undefined {
  if (!listings.has(state)) listings.set(state, readListing(state));
  return listings.get(state);
}

function readListing(state: TopState): Listing | undefined {
  const place = currentTopView(state);
  const listing = listingOf(state, place);
  if (listing === undefined || place.filter === '') return listing;
  const rows = listing.rows.filter(({ cells }) => isMatch(cells.map(({ text }) => text).join(' '), place.filter));
  return { ...listing, rows, empty: `Nothing matches "${safeLine(place.filter)}". Esc shows everything.` };
}

/** The position of the selected row. */
export function selectedIndex({ rows }: Listing, { selected, index }: TopView): number {
  const found = rows.findIndex(({ id }) => id === selected);
  return found >= 0 ? found : Math.max(0, Math.min(index, rows.length - 1));
}

/** The run and story that actions apply to: those of the selected row, or of the view. */
export function findTarget(state: TopState): { runId: string; story?: string } | undefined {
  const place = currentTopView(state);
  const listing = findListing(state);
  const row = listing?.rows[selectedIndex(listing, place)];
  const runId = row?.runId ?? place.runId;
  const story = row?.story ?? place.story;
  return runId === undefined ? undefined : { runId, ...(story !== undefined && { story }) };
}

/** The key of the breaker of the selected row. */
export function findBreaker(state: TopState): string | undefined {
  const listing = findListing(state);
  return listing?.rows[selectedIndex(listing, currentTopView(state))]?.breaker;
}

function listingOf(state: TopState, place: TopView): Listing | undefined {
  const { view, runId } = place;
  switch (view) {
    case 'prds':
      return prdListing(state, place);
    case 'runs':
      return runListing(state);
    case 'inbox':
      return inboxListing(state);
    case 'spend':
      return spendListing(state);
    case 'workers':
      return queueListing(state);
    case 'stories':
      return storyListing(state, findRun(state, runId));
    case 'logs':
    case 'diff':
    case 'settings':
    case 'help':
      return undefined;
  }
}

function runListing({ runs = [], now }: TopState): Listing {
  const columns: Column[] = [
    { name: 'PROJECT', max: 24 },
    { name: 'RUN' },
    { name: 'STATE', max: 30 },
    { name: 'STORIES', order: 2 },
    { name: 'WHEN', order: 1 },
    { name: 'NOW', max: 60, order: 3 },
    { name: 'TIME', order: 4 },
    { name: 'COST', order: 5 },
    { name: 'USER', max: 16, order: 6 },
    { name: 'REPOSITORY', cut: 'start', order: 7 },
  ];
  const rows = activeFirst(runs).map((run): Row => ({
    id: run.runId,
    runId: run.runId,
    cells: [
      { text: projectName(run), tone: 'strong' },
      { text: run.runId },
      cellOf(runWords(run)),
      { text: storyCount(run) },
      { text: whenText(run, now) },
      { text: currentWork(run, now) },
      { text: timeText(run, now) },
      { text: costText(run.usage) },
      { text: safeLine(run.user, 40) },
      { text: safeLine(run.repo.source) },
    ],
  }));
  return { columns, rows, empty: 'No runs yet. Start one with `halo run prd.json` or `halo submit prd.json`.' };
}

/** Active runs, then the others; the newest first. */
export function activeFirst(runs: readonly ListedRun[]): ListedRun[] {
  return [...runs.filter((run) => run.status !== 'ended'), ...runs.filter((run) => run.status === 'ended')];
}

/** The stories in progress with their phases. */
function currentWork(run: RunState, now: string): string {
  const { stories, status } = run;
  if (status === 'ended') return '-';
  const active = stories.filter(({ progress, waiting }) => progress === 'in_progress' || waiting?.model !== undefined);
  const texts = active.map((story) => `${safeLine(story.id, 20)} ${workText(story, run, now)}`);
  return texts.length === 0 ? '-' : texts.join(', ');
}

function storyListing(state: TopState, run: ListedRun | undefined): Listing {
  const columns: Column[] = [
    { name: 'STORY', max: 20 },
    { name: 'STATE', max: 36 },
    { name: 'PRIORITY', order: 6 },
    { name: 'CRITERIA', order: 5 },
    { name: 'ATTEMPTS', order: 3 },
    { name: 'TIME', order: 1 },
    { name: 'UPDATED', order: 4 },
    { name: 'COMMIT', order: 2 },
    { name: 'TITLE' },
  ];
  if (run === undefined) return { columns, rows: [], empty: 'Reading the run …' };
  const { now } = state;
  const prd = state.run?.runId === run.runId ? state.run.prd : undefined;
  const rows = run.stories.map((story): Row => {
    const planned = prd?.stories.find(({ id }) => id === story.id);
    const { ofLimit, time, commit } = storyFigures(story, run, now);
    const changed = story.endedAt ?? story.startedAt;
    return {
      id: story.id,
      runId: run.runId,
      story: story.id,
      cells: [
        { text: safeLine(story.id, 60), tone: 'strong' },
        cellOf(storyWords(story, run, now)),
        { text: planned?.priority === undefined ? '-' : String(planned.priority) },
        { text: planned === undefined ? '-' : String(planned.acceptance.length) },
        { text: ofLimit },
        { text: time },
        { text: changed === undefined ? '-' : ageText(changed, now) },
        { text: commit },
        { text: safeLine(story.title) },
      ],
    };
  });
  return { columns, rows, empty: 'The run has no stories.' };
}

/** What waits for a decision of a person: engines and breakers that runs share, then the newest run first. */
function inboxListing({ runs = [], breakers = [], outages = [], now }: TopState): Listing {
  const columns: Column[] = [
    { name: 'WAITS FOR' },
    { name: 'RUN' },
    { name: 'STORY', max: 20 },
    { name: 'SINCE', order: 1 },
    { name: 'PROJECT', max: 24, order: 2 },
    { name: 'WHAT' },
  ];
  const rows = runs.flatMap((run) =>
    inboxItems(run, runs).map(({ kind, story, text }): Row => ({
      id: `${run.runId} ${story?.id ?? ''}`,
      runId: run.runId,
      ...(story && { story: story.id }),
      cells: [
        { text: inboxLabel(kind), tone: 'warn' },
        { text: run.runId, tone: 'strong' },
        { text: safeLine(story?.id ?? '-', 60) },
        { text: ageText(story?.endedAt ?? run.endedAt ?? run.createdAt, now) },
        { text: safeLine(run.project, 60) },
        { text: safeLine(text) },
      ],
    })),
  );
  return {
    columns,
    rows: [
      ...outages.map((outage) => outageRow(outage, now)),
      ...breakers.map((breaker) => breakerRow(breaker, now)),
      ...rows,
    ],
    empty: 'Nothing waits for a decision.',
  };
}

function outageRow(outage: EngineOutage, now: string): Row {
  const { kind, text, command } = outageItem(outage);
  return {
    id: `engine ${outage.engine}`,
    cells: [
      { text: inboxLabel(kind), tone: 'warn' },
      ...['-', '-'].map((empty) => ({ text: empty })),
      { text: ageText(outage.since, now) },
      { text: '-' },
      { text: safeLine(`${text}; ${command}`) },
    ],
  };
}

/** The row of a breaker of a repository or a provider. */
function breakerRow({ key, status, reason, until }: BreakerView, now: string): Row {
  const left = until === null ? 0 : msBetween(now, until);
  const then = until === null ? '' : `; one story may try ${left > 0 ? `in ${formatElapsed(left)}` : 'now'}`;
  return {
    id: `breaker ${key}`,
    breaker: key,
    cells: [
      { text: inboxLabel('breaker'), tone: 'warn' },
      ...['-', '-', '-', '-'].map((text) => ({ text })),
      { text: safeLine(`${breakerName(key)} is ${status}: ${reason}${then}`) },
    ],
  };
}

function spendListing({ runs = [] }: TopState): Listing {
  const columns: Column[] = [
    { name: 'RUN' },
    { name: 'COST' },
    { name: 'TOKENS IN' },
    { name: 'CACHED', order: 2 },
    { name: 'OUT' },
    { name: 'REQUESTS', order: 1 },
    { name: 'AGENT', order: 4 },
    { name: 'USER', max: 16, order: 5 },
    { name: 'PROJECT', max: 24, order: 3 },
    { name: 'STATE' },
  ];
  const used = runs.filter(({ usage }) => usage.requests > 0);
  const spent = ({ usage }: RunState) => [usage.costUsd ?? 0, usage.inputTokens + usage.outputTokens] as const;
  const sorted = [...used].sort((a, b) => spent(b)[0] - spent(a)[0] || spent(b)[1] - spent(a)[1]);
  const rows = sorted.map((run): Row => {
    const { usage } = run;
    return {
      id: run.runId,
      runId: run.runId,
      cells: [
        { text: run.runId, tone: 'strong' },
        { text: costText(run.usage) },
        { text: formatCount(usage.inputTokens) },
        { text: formatCount(usage.cachedTokens) },
        { text: formatCount(usage.outputTokens) },
        { text: String(usage.requests) },
        { text: safeLine(run.agent ?? '-', 20) },
        { text: safeLine(run.user, 40) },
        { text: safeLine(run.project, 60) },
        cellOf(runWords(run)),
      ],
    };
  });
  return { columns, rows, empty: 'No run has used a model yet.' };
}

/** The stories that run or wait, with the reason; above them are the workers. */
function queueListing({ runs = [], workers, now }: TopState): Listing {
  const columns: Column[] = [
    { name: 'RUN' },
    { name: 'STORY', max: 20 },
    { name: 'STATE' },
    { name: 'TIME', order: 1 },
    { name: 'USER', max: 16, order: 3 },
    { name: 'PROJECT', max: 24, order: 2 },
    { name: 'WHY' },
  ];
  const rows = runs
    .filter(({ status }) => status !== 'ended')
    .flatMap((run) =>
      run.stories.filter(isUnfinished).map((story): Row => ({
        id: `${run.runId} ${story.id}`,
        runId: run.runId,
        story: story.id,
        cells: [
          { text: run.runId, tone: 'strong' },
          { text: safeLine(story.id, 60) },
          cellOf(storyWords(story, run, now)),
          { text: storyFigures(story, run, now).time },
          { text: safeLine(run.user, 40) },
          { text: safeLine(run.project, 60) },
          { text: whyItWaits(story, run, { workers, now }) },
        ],
      })),
    );
  return { columns, rows, empty: 'No story is waiting or running.' };
}

function whyItWaits(
  story: StoryState,
  run: ListedRun,
  { workers, now }: { workers: readonly WorkerView[] | undefined; now: string },
): string {
  const takers = workers && countTakers(run, workers);
  const view = { state: run, ...takers, ...defined({ heldBy: run.heldBy, engines: run.engines }) };
  return whyStoryOrRunWaits(story, view, now).join('; ') || '-';
}
