import { LOCAL_ENGINE } from '../../core/engine/engine-address.ts';
import { SCREEN_KEYS } from '../../view/action-keys.ts';
import { stripVTControlCharacters } from 'node:util';
import { addUsage, NO_USAGE } from '../../core/agent.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { safeLine, safeText } from '../../core/text/safe-text.ts';
import type { Paint, Tone } from '../../core/transcript/transcript-line.ts';
import {
  padToWidth,
  stringWidth,
  truncateStartToWidth,
  truncateToWidth,
  wrapIndented,
} from '../../lib/string-width.ts';
import { formatCount } from '../../core/text/format-count.ts';
import { costText } from '../../view/usage-text.ts';
import { msBetween } from '../../core/text/format-elapsed.ts';
import { diffLines, helpLines, logLines, settingLines } from './body-lines.ts';
import { completeCommand } from './command-line.ts';
import type { ActionName } from './actions.ts';
import { isAction, KEYS, keyLabel, type KeyCommand } from './key-table.ts';
import { planFor } from './update.ts';
import { asksPerson, inboxItems } from '../../view/inbox.ts';
import { findListing, selectedIndex } from './listing.ts';
import { bodyHeight, currentTopView, type TopView, type TopState } from './model.ts';
import { answerPanel, runPanel, storyDetails } from './run-panel.ts';
import { tableLines } from './table-lines.ts';
import { formatAge } from '../../view/ages.ts';
import { closedText } from '../../view/run-words.ts';

/** The whole screen: exactly `height` lines, none wider than `width`. */
export function frameOf(state: TopState, paint: Paint): string[] {
  const asked = answerPanel(state, paint);
  const messages = messageLines(state, paint);
  const height = bodyHeight(state) - (messages.length - 1);
  const room = Math.max(0, height - asked.length);
  // What is selected or followed stays visible above the answer and the message.
  const shown = bodyOf({ ...state, height: state.height - (bodyHeight(state) - room) }, paint);
  const body = [...shown.slice(0, room), ...asked];
  const blank = Array.from({ length: Math.max(0, height - body.length) }, () => '');
  const lines = [headLine(state, paint), pathLine(state, paint), ...body, ...blank, ...messages, keyLine(state, paint)];
  return lines.slice(0, Math.max(1, state.height)).map((line) => fit(line, state.width));
}

/** Lines have the width of the terminal, unless it is too narrow for the fixed parts of a line. */
function fit(line: string, width: number): string {
  return stringWidth(line) <= width ? line : truncateToWidth(stripVTControlCharacters(line), width);
}

function headLine({ runs, older, where, now, width }: TopState, paint: Paint): string {
  const counts = runs === undefined ? '' : countsText(runs, older);
  const time = `${now.slice(11, 19)} UTC`;
  const left = `halo  ${counts}`;
  const room = width - 2 - stringWidth(left) - 2 - time.length - 2;
  const middle = room < 8 ? '' : padToWidth(truncateStartToWidth(safeLine(where), room), room);
  const line = middle === '' ? left : `${left}  ${middle}  ${time}`;
  return paint('strong', ` ${truncateToWidth(line, width - 1)}`.trimEnd());
}

function countsText(runs: readonly ListedRun[], older: number): string {
  const open = runs.filter(({ status }) => status !== 'ended').length;
  const decisions = runs.reduce((sum, run) => sum + inboxItems(run, runs).filter(asksPerson).length, 0);
  const asks = decisions === 0 ? '' : `  ? ${decisions} waiting for you (${SCREEN_KEYS.inbox})`;
  const all = runs.length + older;
  return `${open} active of ${all} ${all === 1 ? 'run' : 'runs'}${asks}`;
}

/** Where the user is, and what the view is limited to. */
function pathLine(state: TopState, paint: Paint): string {
  const place = currentTopView(state);
  const parts = state.stack.map(({ view, runId, story, prd }) =>
    [view, runId ?? nameOfPrd(state, prd), story === undefined ? undefined : safeLine(story, 30)]
      .filter((each) => each !== undefined)
      .join(' '),
  );
  const filter = place.filter === '' ? '' : `   filter: ${safeLine(place.filter, 60)}`;
  const log =
    place.view === 'logs' ? `   lines: ${place.kind}${place.offset === undefined ? ', following' : ', G follows'}` : '';
  const older = place.view === 'runs' && state.older > 0 ? `   ${state.older} older: halo ls` : '';
  const limits = `${log}${older}${filter}`;
  const path = truncateStartToWidth(parts.slice(-3).join(' > '), Math.max(1, state.width - 1 - stringWidth(limits)));
  return paint('quiet', ` ${path}${limits}`);
}

function nameOfPrd({ prds }: TopState, prd: string | undefined): string | undefined {
  const entry = prds?.entries.find(({ path }) => path === prd);
  return entry && safeLine(entry.name, 60);
}

function bodyOf(state: TopState, paint: Paint): string[] {
  const place = currentTopView(state);
  switch (place.view) {
    case 'logs':
      return logLines(state, paint);
    case 'diff':
      return diffLines(state, paint);
    case 'settings':
      return settingLines(state, paint).slice(place.offset ?? 0);
    case 'help':
      return helpLines(state, paint).slice(place.offset ?? 0);
    case 'runs':
    case 'inbox':
    case 'spend':
    case 'workers':
    case 'prds':
    case 'stories':
      return listBody(state, place, paint);
  }
}

function listBody(state: TopState, place: TopView, paint: Paint): string[] {
  const panel = panelOf(state, place, paint);
  if (place.view !== 'stories' && state.runs === undefined) {
    const reading = state.failures.runs === undefined ? ['Reading the runs …'] : [];
    return [...panel, ...reading.map((text) => `  ${paint('quiet', text)}`)];
  }
  const listing = findListing(state);
  if (listing === undefined) return panel;
  const selected = selectedIndex(listing, place);
  const details = place.view === 'stories' ? storyDetails(state, listing.rows[selected]?.story, paint) : [];
  const left = bodyHeight(state) - panel.length;
  const height = Math.max(2, Math.min(listing.rows.length + 1, left - Math.min(details.length, Math.floor(left / 2))));
  return [...panel, ...tableLines(listing, { width: state.width, height, selected, paint }), ...details];
}

/** What a list has above its rows. */
function panelOf(state: TopState, { view, runId }: TopView, paint: Paint): string[] {
  if (view === 'stories' && runId !== undefined) return [...runPanel(state, runId, paint), ''];
  if (view === 'spend') return [...spendPanel(state, paint), ''];
  if (view === 'workers') return [...workerPanel(state, paint), ''];
  return [];
}

const DAY_MS = 86_400_000;

/** What all attempts used today (UTC), in the last seven days, and ever, as `halo cost --by day` reports it. */
function spendPanel({ costs, runs = [], failures, now, width }: TopState, paint: Paint): string[] {
  if (costs === undefined) return failures.costs === undefined ? [`  ${paint('quiet', 'Reading the costs …')}`] : [];
  const dayBefore = (days: number) => new Date(Date.parse(now) - days * DAY_MS).toISOString().slice(0, 10);
  const since = (day: string) =>
    costs.rows.filter(({ key }) => key >= day).reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE);
  const unpriced = runs.filter(({ usage }) => usage.requests > 0 && usage.costUsd === undefined).length;
  const note = unpriced === 0 ? '' : `   ${unpriced} ${unpriced === 1 ? 'run' : 'runs'} without a known price`;
  const totals = [
    ['today (UTC)', since(dayBefore(0)), ''],
    ['last 7 days', since(dayBefore(6)), ''],
    ['all', costs.total.usage, note],
  ] as const;
  return totals.map(([label, { costUsd, inputTokens, outputTokens }, remark]) => {
    const tokens = formatCount(inputTokens + outputTokens);
    return truncateToWidth(
      `  ${label.padEnd(14)} ${costText({ costUsd }).padStart(10)}  ${tokens.padStart(8)} tokens${remark}`,
      width,
    );
  });
}

const MAX_WORKERS = 6;

function workerPanel({ workers, now, width }: TopState, paint: Paint): string[] {
  if (workers === undefined) return [`  ${paint('quiet', 'Reading the workers …')}`];
  if (workers.length === 0)
    return [`  ${paint('warn', '! no worker is running: start one with `halo worker` or `halo up`')}`];
  const lines = workers.slice(0, MAX_WORKERS).map((worker) => {
    const { host, pid, takes, since, engine = LOCAL_ENGINE } = worker;
    const takesRuns = takes === 'any' ? 'takes any run' : 'takes its own run (halo run)';
    const what = closedText(worker) ?? takesRuns;
    const where = engine === LOCAL_ENGINE ? '' : `  on ${safeLine(engine, 40)}`;
    const time = since === undefined ? '' : `, for ${formatAge(msBetween(since, now))}`;
    return truncateToWidth(`  » worker ${safeLine(host, 60)}:${pid}${where}  ${what}${time}`, width);
  });
  const more = workers.length - lines.length;
  return more > 0 ? [...lines, `    and ${more} more`] : lines;
}

const MAX_MESSAGE_LINES = 4;

/** A question, a line of input, the result of the last action, or why the data is old; at least one line. */
function messageLines(state: TopState, paint: Paint): string[] {
  const { question, inputLine, acting, notice, failures, runs, width } = state;
  const most = Math.max(1, Math.min(MAX_MESSAGE_LINES, Math.floor(bodyHeight(state) / 2)));
  const wrapped = (tone: Tone, text: string, keys = '') =>
    wrapMessage(text, keys, { width: Math.max(10, width - 2), most }).map((line) => paint(tone, ` ${line}`));
  if (question !== undefined) return wrapped('warn', question.text, '  y yes, n no');
  if (inputLine !== undefined) {
    const lead = {
      command: ':',
      filter: '/',
      reason: 'Reason (Enter rejects, Esc does not): ',
      answer: 'Answer: ',
      message: `${inputLine.label ?? ''}: `,
      name: 'Name of the new PRD: ',
    }[inputLine.kind];
    const possible = inputLine.kind === 'command' ? completeCommand(inputLine.text, runs).slice(0, 12).join(' ') : '';
    const input = `${lead}${truncateStartToWidth(safeText(inputLine.text), Math.max(4, width - lead.length - 3))}_`;
    const rest = truncateToWidth(possible, Math.max(0, width - 3 - stringWidth(input)));
    return [` ${paint('strong', input)}  ${paint('quiet', rest)}`.trimEnd()];
  }
  if (acting !== undefined) {
    const text = `… ${acting.name} ${acting.runId || safeLine(acting.prd ?? acting.text ?? '')}`;
    return [paint('quiet', ` ${truncateToWidth(text, width - 1)}`)];
  }
  if (notice !== undefined) return wrapped(notice.tone, safeLine(notice.text, 600));
  const [failure] = Object.values(failures);
  if (failure === undefined) return [''];
  const text = [failure.message, failure.hint].filter((each) => each !== undefined).join(' ');
  return wrapped('bad', `✗ ${safeLine(text, 600)}`);
}

/** At most `most` lines; if a text is too long, the keys that answer it are still shown. */
function wrapMessage(text: string, keys: string, { width, most }: { width: number; most: number }): string[] {
  const lines = wrapIndented(text, width);
  const rest = lines.splice(most - 1).join(' ');
  if (rest === '') {
    const last = lines.pop() ?? '';
    return stringWidth(last + keys) <= width ? [...lines, last + keys] : [...lines, last, keys.trim()];
  }
  return [...lines, truncateToWidth(rest, width - keys.length) + keys];
}

const ALWAYS_SHOWN: readonly KeyCommand[] = ['back', 'command', 'filter', 'help', 'quit'];

/** Whether the last line offers an action for what is selected; a question is answered by its own key. */
function isPossible(state: TopState, command: ActionName): boolean {
  const planned = planFor(state, command);
  return 'action' in planned && (command !== 'approve' || planned.action.name === 'approve');
}

/** The same key pauses and resumes. */
function pauseLabel(state: TopState): string {
  const planned = planFor(state, 'pause');
  return 'action' in planned && planned.action.name === 'resume' ? 'resume' : 'pause';
}

/** The most useful keys of the view that fit: of actions, those that are possible. */
function keyLine(state: TopState, paint: Paint): string {
  const { view } = currentTopView(state);
  const here = KEYS.filter(
    ({ short, views, command }) =>
      short !== undefined && (views?.includes(view) ?? true) && (!isAction(command) || isPossible(state, command)),
  );
  const fixed = here.filter(({ command }) => ALWAYS_SHOWN.includes(command));
  const rankOf = ({ command }: (typeof here)[number]) => (command === 'open' ? 0 : isAction(command) ? 1 : 2);
  const others = here.filter((binding) => !fixed.includes(binding)).sort((a, b) => rankOf(a) - rankOf(b));
  const texts = [...others, ...fixed].map(
    ({ keys, short, command }) => `${keyLabel(keys[0] ?? '')} ${command === 'pause' ? pauseLabel(state) : short}`,
  );
  const most = texts.length - fixed.length;
  let line = texts.join('  ');
  for (let count = most; count >= 0 && line.length > state.width - 1; count--)
    line = [...texts.slice(0, count), ...texts.slice(most)].join('  ');
  return paint('quiet', ` ${truncateToWidth(line, state.width - 1)}`);
}
