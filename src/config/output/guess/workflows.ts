import { parse } from 'yaml';
import { parseCommands } from '../../../core/command-needs.ts';

/** Commands that a GitHub workflow runs in the repository root on push or pull request. */
export interface Workflow {
  /** Relative to the repository root. */
  path: string;
  /** Each command as a list of words. */
  commands: string[][];
}

/** Reads the commands of a workflow's Linux jobs; empty if the text is not a workflow. */
export function readWorkflow(path: string, text: string): Workflow {
  return { path, commands: runsIn(parseYaml(text)).flatMap(parseCommands) };
}

/** Returns undefined for invalid YAML, excessive nesting or alias expansion. */
function parseYaml(text: string): unknown {
  try {
    return parse(text, { logLevel: 'error', prettyErrors: false, maxAliasCount: 20 });
  } catch {
    return undefined;
  }
}

function runsIn(workflow: unknown): string[] {
  const { on, jobs, defaults } = asTable(workflow);
  const triggers = typeof on === 'string' ? [on] : Array.isArray(on) ? (on as unknown[]) : Object.keys(asTable(on));
  if (!triggers.includes('push') && !triggers.includes('pull_request')) return [];
  return Object.values(asTable(jobs)).flatMap((each) => {
    const job = asTable(each);
    const isForeign = /windows|macos/i.test(JSON.stringify(job['runs-on'] ?? ''));
    if (isForeign || isElsewhere(asTable(defaults).run) || isElsewhere(asTable(job.defaults).run)) return [];
    const steps = Array.isArray(job.steps) ? (job.steps as unknown[]) : [];
    return steps
      .filter((step) => !isElsewhere(step))
      .flatMap((step) => {
        const { run } = asTable(step);
        return typeof run === 'string' ? [run] : [];
      });
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
