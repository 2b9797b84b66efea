import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { STOP_REASONS, type StopReason } from '../../core/failure/stop-reason.ts';
import { foldEntries } from '../../core/journal/fold-run.ts';
import { nextSteps, toCommands } from '../../core/run/next-steps.ts';
import type { RunEnd } from '../../core/run/plan.ts';
import { decisiveStory, type RunState } from '../../core/run/state.ts';
import { failedTestsLines } from '../../core/test-report/failed-tests.ts';
import { safeLine, safeOutput } from '../../core/text/safe-text.ts';
import { createFolders, readFolder, writeAtomic } from '../../lib/fs.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import { withDiskErrors } from '../disk-errors.ts';
import { readConstants } from '../journal/append-events.ts';
import { loadRun } from '../journal/load-run.ts';
import type { RunPaths } from '../run-layout.ts';
import { buildRunRecord } from './run-record.ts';

/** What only the worker knows about a failure. */
export interface BundleFacts {
  /** How the run ends. The bundle is written before run.ended, so that it exists when the end becomes visible. */
  end: RunEnd;
  gitStatus?: string;
  gitDiff?: string;
  /** The sandbox as JSON: image, exit code, limits. */
  container?: unknown;
}

const TAIL_BYTES = 256 * 1024;

/**
 * Collects the facts about a failure in debug_bundle/ and returns that folder. Each file is replaced atomically, and
 * files of an earlier bundle are removed at the end.
 */
export async function writeDebugBundle(paths: RunPaths, facts: BundleFacts, masker: Masker): Promise<string> {
  const state = endedAs(facts.end, (await loadRun(paths)).state);
  await withDiskErrors(paths.bundle, async () => {
    await createFolders(paths.bundle, 0o700);
    const written = new Set<string>();
    const putMasked = async (name: string, data: Uint8Array) => {
      written.add(name);
      await writeAtomic(join(paths.bundle, name), data);
    };
    const put = (name: string, data: string | Uint8Array) =>
      putMasked(name, masker.bytes(typeof data === 'string' ? Buffer.from(data) : data));
    await put('run.json', `${JSON.stringify(buildRunRecord(state, await readConstants(paths)), null, 2)}\n`);
    await put('events.tail.jsonl', await tailOf(paths.raw));
    await put('journal.tail.jsonl', await tailOf(paths.journal));
    if (facts.gitStatus !== undefined) await put('git-status.txt', facts.gitStatus);
    if (facts.gitDiff !== undefined) await putMasked('git-diff.patch', masker.known(Buffer.from(facts.gitDiff)));
    if (facts.container !== undefined) await put('container.json', `${JSON.stringify(facts.container, null, 2)}\n`);
    await put('summary.md', await summaryText(paths, state, facts));
    // Another process may be writing the same bundle: keep its temporary files.
    for (const name of await readdir(paths.bundle))
      if (!written.has(name) && !name.endsWith('.tmp'))
        await rm(join(paths.bundle, name), { recursive: true, force: true });
  });
  return paths.bundle;
}

/** Empties the debug bundle of a run that continues. */
export async function emptyDebugBundle({ bundle }: RunPaths): Promise<void> {
  await withDiskErrors(bundle, async () => {
    for (const name of await readFolder(bundle)) await rm(join(bundle, name), { recursive: true, force: true });
  });
}

function endedAs(end: BundleFacts['end'], state: RunState): RunState {
  const at = new Date().toISOString();
  return foldEntries(state, [{ type: 'run.ended', ...end }], at);
}

async function summaryText(paths: RunPaths, state: RunState, facts: BundleFacts): Promise<string> {
  const story = decisiveStory(state);
  // What is known about a story in progress, which the end of the run interrupted, is of an earlier attempt.
  const ended = story?.progress === 'in_progress' ? undefined : story;
  const reason = ended?.stopReason ?? state.stopReason ?? 'UNKNOWN_ERROR';
  const why = ended?.summary ?? state.detail ?? '';
  const failed = ended?.failedTests;
  const place =
    story === undefined
      ? ''
      : `story ${safeLine(story.id)} (${safeLine(story.title)}), attempt ${Math.max(1, story.attempts)}: `;
  const artifacts = story === undefined ? undefined : await newestArtifacts(paths, story.key);
  const sections = [
    `# Run ${state.runId}: ${reason}`,
    `## What happened\n\n${place}${STOP_REASONS[reason].meaning}`,
    ...(why === '' ? [] : [`## Why\n\n${quoteOutput(why)}`]),
    ...(failed === undefined ? [] : [`## Failed tests\n\n${quoteOutput(failedTestsLines(failed).join('\n'))}`]),
    `## What to try next\n\n${adviceFor(state, reason)}`,
    `## Where to look\n\n${whereToLook(facts, artifacts)}`,
    `Run directory: ${paths.dir}\nRepository: ${safeLine(state.repo.source)}${state.repo.base === '' ? '' : `, commit ${state.repo.base}`}\nPRD: ${safeLine(state.prdPath)}`,
  ];
  return `${sections.join('\n\n')}\n`;
}

/** The next steps of `halo status`, or advice for a run that never started. */
function adviceFor(state: RunState, reason: StopReason): string {
  const steps = state.refused === undefined ? toCommands(nextSteps(state)) : [];
  return steps.length === 0
    ? adviceForRefusal(reason)
    : steps.map(({ command, why }) => `- \`${command}\`: ${why}`).join('\n');
}

/** The folder of the newest attempt that left artifacts, below the directory of the run. */
async function newestArtifacts({ dir }: RunPaths, storyKey: string): Promise<string | undefined> {
  const folder = join('artifacts', storyKey);
  const attempts = (await readFolder(join(dir, folder))).map(Number).filter(Number.isInteger);
  return attempts.length === 0 ? undefined : join(folder, String(Math.max(...attempts)));
}

function whereToLook(facts: BundleFacts, artifacts: string | undefined): string {
  const places: [name: string, what: string, exists: boolean][] = [
    [`${artifacts ?? ''}/`, "the attempt's prompt, result, diff and gate logs", artifacts !== undefined],
    ['agent.log', 'the readable log of the run', true],
    ['debug_bundle/events.tail.jsonl', "the end of the agent's raw output", true],
    ['debug_bundle/journal.tail.jsonl', "the end of halo's journal", true],
    ['debug_bundle/git-status.txt', 'changed files', facts.gitStatus !== undefined],
    ['debug_bundle/git-diff.patch', 'the change itself', facts.gitDiff !== undefined],
    ['debug_bundle/container.json', 'the sandbox: image, limits, how it ended', facts.container !== undefined],
  ];
  return places
    .filter(([, , exists]) => exists)
    .map(([name, what]) => `- \`${name}\`: ${what}`)
    .join('\n');
}

function quoteOutput(text: string): string {
  return safeOutput(text)
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
}

/** The last complete lines of a file. */
async function tailOf(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
    const bytes = buffer.subarray(0, bytesRead);
    return from === 0 ? bytes : bytes.subarray(bytes.indexOf(0x0a) + 1);
  } finally {
    await file.close();
  }
}

/** What a user can do after a run was refused before it started; nothing of it can be continued. */
function adviceForRefusal(reason: StopReason): string {
  return ADVICE[reason] ?? 'Read the message, fix the cause, then start the run again.';
}

const ADVICE: Partial<Record<StopReason, string>> = {
  MISSING_DEPENDENCY: 'Run `halo doctor`, which lists what is missing and how to install it, then start the run again.',
  NOT_A_GIT_REPO: 'Use the path of a git repository, or create one with `git init` and a first commit.',
  DIRTY_WORKTREE:
    'Commit or stash the changes in the repository, or pass `--allow-dirty` to run without them, then start the run again.',
  VALIDATION_FAILED: 'Fix the file at the position in the message, then start the run again.',
  CANNOT_START: 'Read the message, which names the obstacle and how to remove it, then start the run again.',
  INFRASTRUCTURE: 'Run `halo doctor`, fix what it reports, then start the run again.',
  UNKNOWN_ERROR: 'Report it together with this folder: it is a bug in halo.',
};
