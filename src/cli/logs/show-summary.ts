import type { Operations } from '../../api/operations.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { summarizeRun, type AttemptSummary, type RunSummary } from '../../core/report/run-summary.ts';
import { formatElapsed, msBetween } from '../../core/text/format-elapsed.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { formatCount } from '../../core/text/format-count.ts';
import { costText, usageText } from '../../view/usage-text.ts';
import type { Cli } from '../cli.ts';
import { table, terminalColumns, type Cell } from '../output/table.ts';
import { verdictWords } from '../../view/attempt-words.ts';

/** Prints runs in figures: times, attempts with their costs, retries and breakers. As JSON, one object per line. */
export async function showSummaries(
  { operations, runIds, json }: { operations: Operations; runIds: readonly string[]; json: boolean },
  cli: Cli,
): Promise<void> {
  for (const [index, runId] of runIds.entries()) {
    const events: JournalEvent[] = [];
    for await (const { event } of await operations.followEvents({ runId, after: 0, follow: false })) events.push(event);
    const summary = summarizeRun(events, new Date().toISOString());
    if (json) await cli.printJson(summary);
    else await cli.print(...(index === 0 ? [] : ['']), ...summaryLines(summary, cli));
  }
}

function summaryLines(summary: RunSummary, cli: Cli): string[] {
  const { runId, repo, createdAt, startedAt, endedAt, stopReason, retries, breakers } = summary;
  const field = (name: string, text: string) => `${cli.paint('quiet', name.padEnd(8))}  ${text}`;
  const total = Object.values(retries).reduce((sum, count) => sum + count, 0);
  const byClass = Object.entries(retries).map(([name, count]) => `${name} ${count}`);
  const used = usageText(summary.usage);
  return [
    field('run', `${cli.paint('strong', runId)}  ${safeLine(repo)}`),
    field('created', utc(createdAt)),
    ...(startedAt === undefined ? [] : [field('started', utc(startedAt))]),
    ...(endedAt === undefined || stopReason === undefined
      ? []
      : [
          field(
            'ended',
            `${utc(endedAt)}, ${formatElapsed(msBetween(startedAt ?? createdAt, endedAt))}, ${stopReason}`,
          ),
        ]),
    ...(used === '' ? [] : [field('used', used)]),
    field('retries', total === 0 ? 'none' : `${total} (${byClass.join(', ')})`),
    ...breakers.map(({ at, reason }) => field('breaker', `${utc(at)}  ${safeLine(reason)}`)),
    ...(summary.attempts.length === 0 ? [] : ['', ...attemptTable(summary.attempts, cli)]),
  ];
}

function attemptTable(attempts: readonly AttemptSummary[], cli: Cli): string[] {
  const heading = ['STORY', 'ATTEMPT', 'RESULT', 'TIME', 'AGENT', 'GATES', 'TOKENS', 'COST', 'COMMIT OR ERROR'];
  const rows = attempts.map((attempt): Cell[] => {
    const { phases, usage, ms } = attempt;
    const { agent, gates } = phases;
    return [
      { text: safeLine(attempt.story, 16), tone: 'strong' },
      { text: String(attempt.attempt) },
      resultCell(attempt),
      { text: formatElapsed(ms) },
      { text: agent === undefined ? '-' : formatElapsed(agent) },
      { text: gates === undefined ? '-' : formatElapsed(gates) },
      { text: formatCount(usage.inputTokens + usage.outputTokens) },
      { text: costText(usage) },
      { text: attempt.commit?.slice(0, 7) ?? safeLine(attempt.error ?? '') },
    ];
  });
  const options = { paint: cli.paint, width: terminalColumns(cli) };
  return table([heading.map((text) => ({ text })), ...rows], options);
}

function resultCell({ verdict, reason }: AttemptSummary): Cell {
  return verdict === undefined ? { text: 'running' } : verdictWords(verdict, reason ?? verdict);
}

function utc(at: string): string {
  return `${at.slice(0, 19).replace('T', ' ')} UTC`;
}
