import { isQuestion } from '../../core/run/questions.ts';
import * as z from 'zod';
import type { RunView } from '../../api/operations/runs.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { runStateSchema } from '../../api/operations/schemas.ts';
import { commandOf, nextSteps, type NextStep } from '../../core/run/next-steps.ts';
import { isFinished, type RunState, type StoryState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { defined } from '../../lib/guards.ts';
import { MAX_ENTRIES } from '../tool-result.ts';
import { runFacts, storyFacts, type Fact, type FactKind } from '../../view/facts.ts';
import { runWords } from '../../view/run-words.ts';
import { storyWords } from '../../view/story-words.ts';
import { whyStoryWaits } from '../../view/waiting.ts';

const state = runStateSchema(z);
const story = state.shape.stories.element.shape;

/** What of a run's state is in every result about it. */
const head = {
  runId: state.shape.runId,
  status: state.shape.status,
  stopReason: state.shape.stopReason,
  project: state.shape.project,
  createdAt: state.shape.createdAt,
  endedAt: state.shape.endedAt,
  state: z.string().describe('Its status in words, as people see it.'),
};

const facts = z.array(z.object({ kind: z.string(), text: z.string() }));

/** Facts of a run that have a field of their own. */
const FIELDS: readonly FactKind[] = ['project', 'repo', 'used'];

/** Number of stories by progress. */
const counts = z.record(z.string(), z.number().int()).describe('Number of stories by progress.');

/** A run in a list. */
export const listedRunSchema = z.object({ ...head, repo: z.string(), counts });

/** A step as a command of a shell and, if there is one, as a tool. */
export const stepSchema = z.object({
  command: z.string(),
  tool: z
    .object({ name: z.string(), arguments: z.record(z.string(), z.string()) })
    .optional()
    .describe('The tool that does the same, if it is offered to you.'),
});

/** The tools of steps that need only a run and a story. */
const TOOLS_OF_STEPS: Partial<Record<NextStep['do'], string>> = {
  answer: 'halo_answer',
  approve: 'halo_approve',
  diff: 'halo_diff',
  land: 'halo_land',
  logs: 'halo_logs',
  pause: 'halo_pause',
  reject: 'halo_reject',
  resume: 'halo_resume',
  retry: 'halo_retry',
  status: 'halo_status',
  watch: 'halo_wait',
};

export function toStep(step: Omit<NextStep, 'why'>): z.output<typeof stepSchema> {
  const { runId, story, set, log } = step;
  const name = set === undefined && log === undefined ? TOOLS_OF_STEPS[step.do] : undefined;
  return { command: commandOf(step), ...(name && { tool: { name, arguments: { runId, ...defined({ story }) } } }) };
}

/** A run in detail. */
export const runViewSchema = z.object({
  ...head,
  detail: state.shape.detail,
  repo: z.string().describe('Path or URL of the repository.'),
  branch: z.string().describe('The branch of the run: one commit per passed story.'),
  paused: z.boolean(),
  heldBy: state.shape.heldBy,
  workers: z.number().int().describe('Workers that would take its stories. 0: a person must start one.'),
  costUsd: state.shape.usage.shape.costUsd,
  counts,
  stories: z.array(
    z.object({
      id: story.id,
      title: story.title,
      progress: story.progress,
      state: z.string().describe('Its progress in words, as people see it.'),
      attempts: story.attempts,
      stopReason: story.stopReason,
      summary: story.summary,
      commit: story.commit,
      waitsFor: z.string().optional().describe('Why it does not run now.'),
      options: z.array(z.string()).optional().describe('Answers that the agent proposes to its question.'),
      answerBy: z.string().optional().describe('When halo stops waiting for an answer.'),
      facts: facts.optional().describe('What a person should know of it before it lands.'),
    }),
  ),
  facts: facts.describe('What else is known about the run, as people see it: why it waits, pull requests, settings.'),
  omittedStories: z.number().int().describe('Stories that are not listed; finished ones are omitted first.'),
  seq: z.number().int().describe('The number of the last event, for `after` of halo_wait.'),
  next: z
    .array(z.object({ ...stepSchema.shape, why: z.string() }))
    .describe(
      'Steps that a person can take now, most useful first, as commands and tools. Report them; do not take those that decide.',
    ),
});

export function toListedRun(run: ListedRun): z.output<typeof listedRunSchema> {
  return { ...headOf(run), repo: safeLine(run.repo.source), counts: countStories(run) };
}

export function toRunView(view: RunView): z.output<typeof runViewSchema> {
  const { state: run, heldBy, workers } = view;
  const now = new Date().toISOString();
  const listed = [...run.stories].sort((a, b) => Number(isFinished(a)) - Number(isFinished(b))).slice(0, MAX_ENTRIES);
  return {
    ...headOf({ ...run, ...defined({ heldBy }) }),
    ...defined({ detail: run.detail && safeLine(run.detail, 1000), heldBy, costUsd: run.usage.costUsd }),
    repo: safeLine(run.repo.source),
    branch: `halo/${run.runId}`,
    paused: run.paused !== undefined,
    workers,
    counts: countStories(run),
    stories: run.stories.filter((each) => listed.includes(each)).map((each) => toStoryView(each, run, now)),
    facts: runFacts(view, now)
      .filter(({ kind }) => !FIELDS.includes(kind))
      .map(toFactView),
    omittedStories: run.stories.length - listed.length,
    seq: run.seq,
    next: nextSteps(run)
      .slice(0, 8)
      .map((step) => ({ ...toStep(step), why: step.why })),
  };
}

function toFactView({ kind, value }: Fact): { kind: string; text: string } {
  return { kind, text: safeLine(value, 600) };
}

function headOf(run: ListedRun) {
  const { runId, status, createdAt } = run;
  const { stopReason, endedAt } = run;
  const words = runWords(run).text;
  return {
    runId,
    status,
    createdAt,
    project: safeLine(run.project),
    state: words,
    ...defined({ stopReason, endedAt }),
  };
}

function countStories({ stories }: RunState): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { progress } of stories) found[progress] = (found[progress] ?? 0) + 1;
  return found;
}

function toStoryView(each: StoryState, run: RunState, now: string) {
  const { progress, attempts, stopReason, commit, question = {} } = each;
  const known = storyFacts(each);
  const summary = each.summary && safeLine(each.summary, 600);
  const waitsFor = whyStoryWaits(each, run, now);
  return {
    id: safeLine(each.id, 100),
    title: safeLine(each.title),
    progress,
    state: storyWords(each, run, now).text,
    attempts,
    ...defined({ stopReason, summary, commit, waitsFor: waitsFor && safeLine(waitsFor) }),
    ...(known.length > 0 && { facts: known.map(toFactView) }),
    ...(isQuestion(each) ? defined({ options: question.options, answerBy: question.until }) : {}),
  };
}
