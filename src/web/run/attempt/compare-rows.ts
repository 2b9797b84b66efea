import { storyAddress } from '../../page/read-server.ts';
import { formatUsd } from '../../../core/budget.ts';
import type { Phase } from '../../../core/journal/phase.ts';
import { formatElapsed } from '../../../core/text/format-elapsed.ts';
import { commandEnd, exitText } from '../../../core/transcript/excerpt.ts';
import { formatClock } from '../../page/clock-time.tsx';
import type { PatchFile } from '../../../core/review/read-patch.ts';
import { attemptMs, phaseMs, type AttemptRecord } from '../../../core/journal/attempts.ts';
import { commandsOf, type RunJournal } from '../run-journal.ts';
import { sumUsage } from './attempt-tables.tsx';
import { contentOf } from './patch-files.tsx';
import { attemptWords } from '../../../view/attempt-words.ts';

/** A row of a comparison of two attempts. */
export interface ComparedRow {
  group: string;
  name: string;
  texts: [string, string];
  /** What is compared instead of the texts. */
  contents?: [string, string];
  /** Times always differ: they are not marked. */
  isTime?: true;
  /** Addresses of what the texts are about. */
  links?: [string | undefined, string | undefined];
  /** The change of a file by each attempt. */
  files?: [PatchFile | undefined, PatchFile | undefined];
}

export type AttemptPair = [AttemptRecord, AttemptRecord];

interface NamedPart {
  name: string;
  text: string;
  content: string;
  link?: string;
  file?: PatchFile;
}

/** What the journal of a run says about two attempts: how they ended, and their phases, commands and usage. */
export function compareFacts(
  journal: RunJournal,
  pair: AttemptPair,
  isOpen: boolean,
): [results: ComparedRow[], others: ComparedRow[]] {
  const both = (text: (attempt: AttemptRecord) => string) => pair.map(text) as [string, string];
  const result = (name: string, text: (attempt: AttemptRecord) => string): ComparedRow => ({
    group: 'Result',
    name,
    texts: both(text),
  });
  const usage = (name: string, text: (used: ReturnType<typeof sumUsage>) => string): ComparedRow => ({
    group: 'Usage',
    name,
    texts: both((each) => text(sumUsage(each.usage))),
  });
  const phases = [...new Set(pair.flatMap((each) => each.phases.map(({ phase }) => phase)))];
  const results: ComparedRow[] = [
    result('Verdict', (each) => `${attemptWords(each, isOpen).mark} ${attemptWords(each, isOpen).text}`),
    result('Why', ({ end }) => end?.summary ?? '–'),
    { ...result('Started', ({ startedAt }) => formatClock(startedAt)), isTime: true },
    {
      ...result('Time', (each) => (each.end === undefined ? '–' : formatElapsed(attemptMs(each, each.end.at)))),
      isTime: true,
    },
    result('Agent', ({ agent }) => [agent?.agent, agent?.model].filter(Boolean).join(' ') || '–'),
    result('Base', ({ base }) => base.slice(0, 10)),
  ];
  const others: ComparedRow[] = [
    ...phases.map((phase): ComparedRow => ({
      group: 'Phases',
      name: phase,
      texts: both((each) => phaseTime(each, phase)),
      isTime: true,
    })),
    ...compareNamed(
      'Setup and gates',
      pair.map((each) => commandParts(journal, each)),
    ),
    usage('Requests', ({ requests }) => requests.toLocaleString('en')),
    usage('Input tokens', ({ inputTokens }) => inputTokens.toLocaleString('en')),
    usage('Output tokens', ({ outputTokens }) => outputTokens.toLocaleString('en')),
    usage('Cost', ({ costUsd }) => (costUsd === undefined ? '–' : formatUsd(costUsd))),
  ];
  return [results, others];
}

/** The commands of an attempt, with links to their logs. */
function commandParts(journal: RunJournal, attempt: AttemptRecord): NamedPart[] {
  const address = storyAddress(journal.state?.runId ?? '', attempt.story, attempt.attempt);
  return commandsOf(attempt).map((shown) => {
    const { command, exitCode, ms = 0, at, log } = shown;
    const { mark, word, tone } = commandEnd(shown);
    const result = `${mark} ${tone === 'bad' ? exitText(exitCode) : word}`;
    return {
      name: command,
      // The time of a command always differs.
      content: at === undefined ? 'running' : exitText(exitCode),
      text: at === undefined ? 'running' : `${result}, ${formatElapsed(ms)}`,
      link: `${address}/log/${encodeURIComponent(log)}`,
    };
  });
}

/** The files that two attempts change. */
export function compareFiles(sides: readonly (readonly PatchFile[])[]): ComparedRow[] {
  const parts = sides.map((files) =>
    files.map((file) => ({
      name: file.path,
      text: `+${file.added} −${file.removed}`,
      content: contentOf(file),
      file,
    })),
  );
  return compareNamed('Files', parts);
}

function phaseTime({ phases }: AttemptRecord, phase: Phase): string {
  const own = phases.filter((each) => each.phase === phase);
  if (own.length === 0) return '–';
  return formatElapsed(own.reduce((sum, each) => sum + phaseMs(each, each.from), 0));
}

/** Rows for what one or both have, by name; the last one of a name counts. */
function compareNamed(group: string, sides: readonly (readonly NamedPart[])[]): ComparedRow[] {
  const [left = new Map<string, NamedPart>(), right = new Map<string, NamedPart>()] = sides.map(
    (side) => new Map(side.map((part) => [part.name, part])),
  );
  return [...new Set([...left.keys(), ...right.keys()])].map((name) => {
    const pair = [left.get(name), right.get(name)] as const;
    return {
      group,
      name,
      texts: [pair[0]?.text ?? '–', pair[1]?.text ?? '–'],
      contents: [pair[0]?.content ?? '', pair[1]?.content ?? ''],
      links: [pair[0]?.link, pair[1]?.link],
      ...(pair.some((part) => part?.file !== undefined) && { files: [pair[0]?.file, pair[1]?.file] }),
    };
  });
}
