import { formatElapsed, msBetween } from '../../core/text/format-elapsed.ts';
import { printedLine, type PatchLine } from '../../core/review/read-patch.ts';
import { safeLine, safeText } from '../../core/text/safe-text.ts';
import { layOutLine, type Paint } from '../../core/transcript/transcript-line.ts';
import { padToWidth, truncateToWidth, wrapIndented } from '../../lib/string-width.ts';
import { paintDiffLine, remarksText } from '../diff/paint-diff.ts';
import type { LogLine } from './followed-run.ts';
import { KEYS, keyLabel } from './key-table.ts';
import { bodyHeight, currentTopView, isMatch, type TopView, type TopState } from './model.ts';

/** The lines of the log that the kind and the filter of a place select. */
export function selectLogLines(state: TopState, place: TopView): readonly LogLine[] {
  const { run } = state;
  if (run === undefined || run.runId !== place.runId) return [];
  const { story, kind, filter } = place;
  return run.lines.filter(
    (line) =>
      (story === undefined || line.story === safeLine(story)) &&
      (kind === 'all' || (kind === 'problems' ? line.tone === 'bad' || line.tone === 'warn' : line.kind === kind)) &&
      isMatch(`${line.story} ${line.label} ${line.text}`, filter),
  );
}

/** The end of the log, or the part before the line to which it is scrolled. */
export function logLines(state: TopState, paint: Paint): string[] {
  const place = currentTopView(state);
  const { run, width } = state;
  const height = bodyHeight(state);
  const all = selectLogLines(state, place);
  const until =
    place.offset === undefined ? all.length : all.findLastIndex(({ number }) => number <= (place.offset ?? 0)) + 1;
  const startedAt = run?.state?.startedAt ?? run?.state?.createdAt;
  const shown: string[] = [];
  for (let index = until - 1; index >= 0 && shown.length < height; index--) {
    const line = all[index];
    if (line === undefined) break;
    const when = startedAt === undefined ? '' : formatElapsed(msBetween(startedAt, line.at));
    const indent = layOutLine({ ...line, text: '.' }, when).length - 1;
    const texts = place.wrap && width - indent > 20 ? wrapIndented(line.text, width - indent) : [line.text];
    const lines = texts.map((text, part) =>
      layOutLine(
        { ...line, label: part === 0 ? line.label : '', text: truncateToWidth(text, Math.max(1, width - indent)) },
        when,
        paint,
      ),
    );
    shown.unshift(...lines);
  }
  if (shown.length === 0) return [`  ${paint('quiet', emptyLog(state, place))}`];
  return shown.slice(-height);
}

function emptyLog({ run }: TopState, { filter, kind }: TopView): string {
  if (run?.state === undefined) return 'Reading the log …';
  return filter === '' && kind === 'all' ? 'No line yet.' : 'No line matches. Esc shows everything.';
}

/** The diff, with warnings above it. */
export function diffLines(state: TopState, paint: Paint): string[] {
  const { diff, width } = state;
  const place = currentTopView(state);
  if (diff === undefined || diff.runId !== place.runId || diff.story !== place.story)
    return state.failures.diff === undefined ? [`  ${paint('quiet', 'Reading the diff …')}`] : [];
  const { lines, remarks } = diff.read;
  if (lines.length === 0) return [`  ${paint('quiet', 'The diff is empty.')}`];
  const warnings = remarksText(remarks).flatMap((text) => wrapIndented(`warning: ${safeText(text)}`, width));
  const height = bodyHeight(state);
  const body: string[] = [];
  for (const line of lines.slice(place.offset ?? 0, (place.offset ?? 0) + height)) {
    const sign = place.filter !== '' && isMatch(printedLine(line), place.filter) ? '*' : ' ';
    for (const part of diffTexts(line, width - 1, place.wrap)) body.push(`${sign}${paintDiffLine(part, paint)}`);
    if (body.length >= height) break;
  }
  return [...((place.offset ?? 0) === 0 ? warnings.map((line) => paint('warn', line)) : []), ...body];
}

/** One line, truncated or wrapped; tabs are spaces, whose width is known. */
function diffTexts(line: PatchLine, width: number, wrap: boolean): PatchLine[] {
  // A line may be megabytes long.
  const text = printedLine(line).slice(0, 4000).replace(/\t/g, '    ');
  const spelled = safeLengthOf(text, width);
  const parts = wrap ? wrapIndented(spelled, Math.max(4, width)) : [truncateToWidth(spelled, width)];
  return parts.map((part) => ({ ...line, mark: '', text: part }));
}

/** Hidden characters take more columns once they are spelled. */
function safeLengthOf(text: string, width: number): string {
  const safe = safeText(text);
  return safe === text || safe.length <= width ? text : safe;
}

/** The number of the first line of the next or previous file, or of the next or previous match. */
export function findDiffLine(state: TopState, { by, filter }: { by: 1 | -1; filter?: string }): number | undefined {
  const lines = state.diff?.read.lines ?? [];
  const from = currentTopView(state).offset ?? 0;
  const isWanted = (line: PatchLine) =>
    filter === undefined ? line.kind === 'file' : isMatch(printedLine(line), filter);
  for (let index = from + by; index >= 0 && index < lines.length; index += by) {
    const line = lines[index];
    if (line !== undefined && isWanted(line)) return index;
  }
  return undefined;
}

/** The settings of the run as `key = value`. */
export function settingLines(state: TopState, paint: Paint): string[] {
  const { filter, runId } = currentTopView(state);
  if (state.view?.state.runId !== runId) return [`  ${paint('quiet', 'Reading the settings …')}`];
  const rows = (state.settings ?? []).filter(([key, value]) => isMatch(`${key} ${value}`, filter));
  if (rows.length === 0) return [`  ${paint('quiet', 'No setting matches. Esc shows everything.')}`];
  const keyWidth = Math.min(34, Math.max(...rows.map(([key]) => key.length)));
  return rows.map(
    ([key, value]) =>
      `  ${paint('strong', padToWidth(safeLine(key), keyWidth))}  ${truncateToWidth(safeLine(value, 1000), Math.max(1, state.width - keyWidth - 4))}`,
  );
}

/** Every key, from the table of keys. */
export function helpLines(state: TopState, paint: Paint): string[] {
  const before = state.stack.at(-2)?.view ?? 'runs';
  const { filter } = currentTopView(state);
  const here = KEYS.filter(({ views }) => views?.includes(before) ?? true);
  const other = KEYS.filter((binding) => !here.includes(binding));
  const keyWidth = Math.max(...KEYS.map(({ keys }) => keys.map(keyLabel).join(', ').length));
  const linesOf = (bindings: typeof KEYS) =>
    bindings
      .map(({ keys, meaning, views }) => {
        const where = views === undefined || bindings === here ? '' : ` (in ${views.join(', ')})`;
        return { keys: keys.map(keyLabel).join(', '), text: `${meaning}${where}` };
      })
      .filter(({ keys, text }) => isMatch(`${keys} ${text}`, filter))
      .flatMap(({ keys, text }) =>
        wrapIndented(text, Math.max(10, state.width - keyWidth - 4)).map(
          (line, part) => `  ${paint('strong', padToWidth(part === 0 ? keys : '', keyWidth))}  ${line}`,
        ),
      );
  return [
    `  ${paint('quiet', `Keys in the view ${before}`)}`,
    ...linesOf(here),
    '',
    `  ${paint('quiet', 'Keys in other views')}`,
    ...linesOf(other),
  ];
}
