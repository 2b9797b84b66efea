import { parse } from 'yaml';
import { parseCommands } from '../../../core/command-needs.ts';

/** Commands that a GitHub workflow runs in the repository root on push or pull request. */
export interface Workflow {
  /** Relative to the repository root. */
  path: string;
  /** Each command as a list of words. */
  commands: string[][];
  /** Versions of programs that its steps set up, if they are literal. */
  tools?: { program: string; version: string }[];
}

/** Reads the commands of a workflow's Linux jobs; empty if the text is not a workflow. */
export function readWorkflow(path: string, text: string): Workflow {
  const workflow = parseYaml(text);
  const jobs = jobsIn(workflow);
  return {
    path,
    commands: jobs.flatMap((job) => runsOf(job, workflow)).flatMap(parseCommands),
    tools: jobs.flatMap(toolsOf),
  };
}

/** Returns undefined for invalid YAML, excessive nesting or alias expansion. */
function parseYaml(text: string): unknown {
  try {
    return parse(text, { logLevel: 'error', prettyErrors: false, maxAliasCount: 20 });
  } catch {
    return undefined;
  }
}

/** The Linux jobs that a push or pull request starts. */
function jobsIn(workflow: unknown): Record<string, unknown>[] {
  const { on, jobs } = asTable(workflow);
  const triggers = typeof on === 'string' ? [on] : Array.isArray(on) ? (on as unknown[]) : Object.keys(asTable(on));
  if (!triggers.includes('push') && !triggers.includes('pull_request')) return [];
  return Object.values(asTable(jobs))
    .map(asTable)
    .filter((job) => !/windows|macos/i.test(JSON.stringify(job['runs-on'] ?? '')));
}

function runsOf(job: Record<string, unknown>, workflow: unknown): string[] {
  if (isElsewhere(asTable(asTable(workflow).defaults).run) || isElsewhere(asTable(job.defaults).run)) return [];
  return stepsOf(job)
    .filter((step) => !isElsewhere(step))
    .flatMap((step) => {
      const { run } = asTable(step);
      return typeof run === 'string' ? [run] : [];
    });
}

function stepsOf({ steps }: Record<string, unknown>): unknown[] {
  return Array.isArray(steps) ? (steps as unknown[]) : [];
}

/** Actions that install a program, and their input with the version. */
const SET_UP: readonly [action: RegExp, program: string, input: string][] = [
  [/^actions\/setup-node@/, 'node', 'node-version'],
  [/^actions\/setup-go@/, 'go', 'go-version'],
  [/^pnpm\/action-setup@/, 'pnpm', 'version'],
];

function toolsOf(job: Record<string, unknown>): { program: string; version: string }[] {
  return stepsOf(job).flatMap((step) => {
    const { uses, with: inputs } = asTable(step);
    const found = SET_UP.find(([action]) => typeof uses === 'string' && action.test(uses));
    const value = found === undefined ? undefined : asTable(inputs)[found[2]];
    const version = /^\d+(?:\.\d+){0,2}/.exec(
      typeof value === 'number' ? String(value) : typeof value === 'string' ? value : '',
    )?.[0];
    return found === undefined || version === undefined ? [] : [{ program: found[1], version }];
  });
}

/** True if a step, or the defaults of all steps, use another folder or shell. */
function isElsewhere(step: unknown): boolean {
  const { 'working-directory': folder, shell } = asTable(step);
  return (folder !== undefined && folder !== '.') || (typeof shell === 'string' && !/^(?:ba)?sh\b/.test(shell));
}

/** The value if it is an object or a list, else an empty object. */
export function asTable(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

const MANAGERS = ['npm', 'pnpm', 'yarn', 'bun'];
const TOOLS = ['pytest', 'ruff', 'mypy', 'tox', 'rake', 'rspec', 'mvn', 'mvnw', 'gradle', 'gradlew'];

/** Identifies a check independent of its arguments, such as `script test`, `cargo test` or `pytest`; else undefined. */
function subjectOf(words: readonly string[]): string | undefined {
  const [program = '', first = '', second = ''] = words;
  if (words.includes('install') || words.includes('add')) return undefined;
  if (MANAGERS.includes(program)) {
    const script = first === 'run' || first === 'run-script' ? second : first === 't' ? 'test' : first;
    return /^[\w:-]+$/.test(script) && !script.startsWith('-') ? `script ${script}` : undefined;
  }
  if (program === 'make') return words.length === 2 ? `make ${first}` : undefined;
  if (program === 'cargo' || program === 'go') return `${program} ${first}`;
  return words.map((word) => word.slice(word.lastIndexOf('/') + 1)).find((word) => TOOLS.includes(word));
}

/** Names of checks, without those that change files, publish or require a service. */
const CHECK =
  /^(?:(?:lint|check|type-?check|types?|tsc|tests?|unit|build)(?:[:-][\w:-]+)?|(?:format|fmt|prettier)[:-]check)$/;
const NO_CHECK =
  /(?:^|[:-])(?:fix|write|update|watch|dev|ui|release|deploy|publish|docs?|e2e|integration|browsers?)(?:$|[:-])/;

/** Returns the scripts (`script`) or targets (`make`) with the name of a check that workflows run, each once. */
export function findChecks(workflows: readonly Workflow[], kind: 'script' | 'make'): string[] {
  const subjects = workflows.flatMap(({ commands }) => commands.flatMap((words) => subjectOf(words) ?? []));
  const names = subjects.filter((each) => each.startsWith(`${kind} `)).map((each) => each.slice(kind.length + 1));
  return [...new Set(names)].filter((name) => CHECK.test(name) && !NO_CHECK.test(name));
}

/** Returns the paths of the workflows that run the same check as a gate. */
export function workflowsOf(gate: string, workflows: readonly Workflow[]): string[] {
  const subjects = parseCommands(gate).map(subjectOf);
  return workflows
    .filter(({ commands }) =>
      commands.some((words) => {
        const subject = subjectOf(words);
        return subject !== undefined && subjects.includes(subject);
      }),
    )
    .map(({ path }) => path);
}
