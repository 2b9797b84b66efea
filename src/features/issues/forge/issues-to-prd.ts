import { formatIssueSource, type IssueSource } from '../../../core/issues/issue-source.ts';
import type { PrdFile } from '../../../core/prd/prd.ts';
import { safeLine, safeText } from '../../../core/text/safe-text.ts';
import type { Issue } from '../../../forge/forge.ts';

const MAX_TITLE = 200;
const MAX_BODY = 20_000;
const MAX_CRITERIA = 50;
const MAX_CRITERION = 500;
const MAX_LABELS = 50;
const MAX_LABEL = 100;

/** The labels that order the issues with a label, unless `issues.priority_labels` names others. */
export function priorityLabels(label: string): string[] {
  return ['next', 'p1', 'p2'].map((suffix) => `${label}:${suffix}`);
}

/**
 * Writes issues as a PRD: a story per issue, its task list as criteria, its labels as priority. The texts are bounded, and
 * what readers of the issue do not see is removed or made visible: HTML comments and hidden characters. Pure.
 */
export function issuesToPrd(source: IssueSource, issues: readonly Issue[], priorityLabels: readonly string[]): PrdFile {
  const once = [...new Map(issues.map((issue) => [issue.number, issue])).values()].sort((a, b) => a.number - b.number);
  const stories = once.map((issue) => ({
    ...toStory(issue),
    priority: priorityOf(issue, priorityLabels),
    ...labelsOf(issue, source, priorityLabels),
  }));
  const text = JSON.stringify({ project: source.project, stories }, undefined, 2);
  return { path: formatIssueSource(source), bytes: new TextEncoder().encode(text) };
}

function toStory({ number, title, body, isClosed }: Issue) {
  const { criteria, text } = splitTaskList(withoutComments(body.slice(0, MAX_BODY * 4)).replace(/\r\n?/g, '\n'));
  const isCut = text.length > MAX_BODY || body.length > MAX_BODY * 4;
  const description = safeText(text.slice(0, MAX_BODY)).trim();
  return {
    id: `#${number}`,
    title: safeLine(title, MAX_TITLE) || `Issue ${number}`,
    description: isCut ? `${description}\n\n[The rest of the issue is left out.]` : description,
    acceptance_criteria: criteria.slice(0, MAX_CRITERIA).map((each) => safeLine(each, MAX_CRITERION)),
    status: isClosed ? 'done' : 'pending',
  };
}

function priorityOf({ labels }: Issue, priorityLabels: readonly string[]): number {
  const index = priorityLabels.findIndex((label) => labels.includes(label));
  return index < 0 ? priorityLabels.length : index;
}

/** Routes choose by them. Those with which halo selects, orders and marks issues say nothing about the story. */
function labelsOf({ labels }: Issue, { label: own }: IssueSource, priorityLabels: readonly string[]) {
  const isOwn = (label: string) => label === own || label.startsWith(`${own}:`) || priorityLabels.includes(label);
  const others = labels.filter((label) => !isOwn(label)).map((label) => safeLine(label, MAX_LABEL));
  return others.length === 0 ? {} : { labels: others.slice(0, MAX_LABELS) };
}

/** An open comment hides the rest of the text, as in the browser. */
function withoutComments(text: string): string {
  let shown = '';
  let at = 0;
  for (let start = text.indexOf('<!--'); start >= 0; start = text.indexOf('<!--', at)) {
    shown += text.slice(at, start);
    const end = text.indexOf('-->', start + 4);
    if (end < 0) return shown;
    at = end + 3;
  }
  return shown + text.slice(at);
}

const TASK = /^[ \t]{0,9}(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}\[[ xX]\][ \t]{1,4}(\S.*)$/;

/** Splits off the items of task lists, outside of code. */
function splitTaskList(body: string): { criteria: string[]; text: string } {
  const criteria: string[] = [];
  let fence: string | undefined;
  const rest = body.split('\n').filter((line) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined) fence = fence === undefined ? mark : mark.startsWith(fence) ? undefined : fence;
    const task = fence === undefined ? TASK.exec(line)?.[1] : undefined;
    if (task !== undefined) criteria.push(task);
    return task === undefined;
  });
  return { criteria, text: rest.join('\n') };
}
