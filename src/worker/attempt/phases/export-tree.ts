import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../../core/failure/errors.ts';
import { MAX_IGNORED, type IgnoredFile } from '../../../core/noted-files.ts';
import { describeRepositories } from '../../../git/import/change-policy.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { hasPackEnd } from '../../../git/objects/pack-end.ts';
import { listFiles } from '../../../git/objects/trees.ts';
import { tailSink } from '../../../lib/streams.ts';
import { ignore } from '../../../lib/async.ts';
import { listSome, shellQuote } from '../../../lib/text.ts';
import { DOCKER_DIR } from '../../../sandbox/docker/image/image-recipe.ts';
import type { Mount, Sandbox } from '../../../sandbox/sandbox.ts';
import { openFileSink } from '../../../store/artifact-store.ts';
import type { Attempt } from '../open-attempt.ts';
import { takeObjects } from '../../workspace/checkout-script.ts';
import { openCommitSource } from '../../workspace/commit-source.ts';
import { runInHelper, startHelper } from '../../workspace/helper-sandbox.ts';
import { CANDIDATE, SNAPSHOT, VIEW, WORKSPACE } from '../../workspace/sandbox-paths.ts';
import { attemptFailed, assertExited, withCause } from '../attempt-outcome.ts';
import type { Workspace } from '../../workspace/workspace.ts';
import { splitAnswer } from './split-answer.ts';

/** The exporter's answer. Nothing in it is trusted yet. */
export interface ExportedTree {
  tree: string;
  /** A file with the pack of the new objects. */
  packFile: string;
  /** New files that are not part of the tree, because git ignores them. */
  ignored: IgnoredFile[];
}

/** A sandbox that reads the change of an agent. */
export interface Exporter {
  /** Resolves when the agent may start: what the workspace was before is known. */
  ready: Promise<unknown>;
  sandbox: Promise<Sandbox>;
}

/** What a workspace is before the agent starts. */
interface Before {
  /** The commit that was checked out: the base, or one of the attempt on it. */
  commit: string;
  /** Commands that run in the workspace before the agent, such as setup; absent if there are none. */
  commands?: Promise<unknown> | undefined;
}

/** A larger pack is refused. */
const MAX_PACK_BYTES = 100 * 1024 * 1024;

const EXPORT_REPOSITORY = '/tmp/export.git';

const PROGRAM = 'read-change.sh';
/** The exit code of the program if git cannot add a repository in the workspace. */
const CANNOT_ADD = 9;

/**
 * Starts the sandbox that will read the change: halo's image, a read-only volume, and its own git directory and index, so
 * that nothing in the workspace's `.git` is loaded. It starts while setup or the agent works. What setup leaves is recorded
 * before the agent starts, so that it is not part of the change.
 */
export function openExporter(attempt: Attempt, work: Workspace, before: Before): Exporter {
  const sandbox = startExporter(attempt, work, before);
  sandbox.catch(() => {}); // observed by the export; this avoids an unhandled rejection
  return { sandbox, ready: before.commands === undefined ? Promise.resolve() : sandbox };
}

async function startExporter(attempt: Attempt, work: Workspace, before: Before): Promise<Sandbox> {
  const { commit, commands } = before;
  const { base } = attempt.inputs;
  const { layer } = attempt;
  const [sandbox, program, reports] = await Promise.all([
    startHelper(attempt, {
      phase: 'export',
      volume: work.volume,
      readOnly: true,
      repositories: true,
      workdir: '/tmp',
      env: { GIT_DIR: EXPORT_REPOSITORY, GIT_WORK_TREE: WORKSPACE, FROM: commit, BASE: base },
      ...(layer === undefined ? {} : { mounts: [mountSnapshot(layer.volume)] }),
    }),
    readFile(join(DOCKER_DIR, PROGRAM), 'utf8'),
    findNewReports(attempt),
  ]);
  await commands;
  const source = await openCommitSource(attempt, { commit, sources: commit === base ? [VIEW] : [VIEW, CANDIDATE] });
  const script = [
    'set -e',
    `printf %s ${shellQuote(program)} > /tmp/${PROGRAM}`,
    `. /tmp/${PROGRAM}`,
    `open_repository ${formatOf(base)}`,
    ...takeObjects(source, EXPORT_REPOSITORY),
    'read_entries',
    ...reports.map((path) => `echo ${shellQuote(`/${path}`)} >> ${EXPORT_REPOSITORY}/info/exclude`),
    ...(commands === undefined ? [] : ['record_or_complain']),
  ];
  const complaint = (await sandbox.prepare(script.join('\n'), source.stdin)).trim();
  if (complaint === '') return sandbox;
  const why = `after setup, the workspace cannot be read: ${firstError(complaint)}`;
  throw withCause('setup-failed', attemptFailed('GATE_FAILED', why, complaint));
}

function mountSnapshot(source: string): Mount {
  return { kind: 'volume', source, target: SNAPSHOT, readOnly: true, copyUp: false };
}

function formatOf(commit: string): string {
  return commit.length === 64 ? 'sha256' : 'sha1';
}

/** Exports what the agent changed, as a tree and a pack. */
export async function exportTree(attempt: Attempt, exporter: Exporter): Promise<ExportedTree> {
  return attempt.journal.phase('export', () => readWorkspace(attempt, exporter));
}

export async function readWorkspace(attempt: Attempt, exporter: Exporter): Promise<ExportedTree> {
  const packFile = join(attempt.resources.scratchDir, 'export.pack');
  const sandbox = await exporter.sandbox;
  const stderr = tailSink(2_000);
  const stdout = splitAnswer(openFileSink(packFile));
  const isWhole = () => hasPackEnd(packFile, attempt.inputs.base.length);
  const ending = runInHelper(attempt, sandbox, {
    script: `set -e\n. /tmp/${PROGRAM}\nprint_change`,
    stdout: stdout.sink,
    stderr: stderr.sink,
    outputBytes: MAX_PACK_BYTES,
  });
  // The engine reports the end of a container some time after its last byte. A pack can contain the last line, but its
  // checksum is only at its end.
  const isDone = await Promise.race([stdout.done.then(isWhole), ending.then(() => false)]);
  const { word, body } = stdout.answer();
  const fields = body.toString('utf8').split('\0').slice(0, -1);
  if (isDone) {
    attempt.worker.inBackground(ending.then(ignore));
    return { tree: word, packFile, ignored: toIgnoredFiles(fields) };
  }
  const exit = await ending;
  if (exit.ended === 'output') throw attemptFailed('POLICY_VIOLATION', 'the story changed more than 100 MiB (packed)');
  assertExited(exit, { what: 'the export', limits: attempt.config.limits }, stderr.text());
  if (exit.exitCode === CANNOT_ADD && fields.length > 0)
    throw word === 'unreadable'
      ? withCause('unreadable-files', attemptFailed('POLICY_VIOLATION', describeUnreadable(fields)))
      : withCause('nested-repository', attemptFailed('POLICY_VIOLATION', describeRepositories(fields)));
  if (exit.exitCode !== 0) {
    const why = firstError(stderr.text());
    throw attemptFailed('POLICY_VIOLATION', `the workspace cannot be exported: ${why}`, stderr.text());
  }
  // The engine's exit code comes on another connection.
  if (!(await isWhole()))
    throw new HaloError('DOCKER_FAILED', 'The change of the story was cut off on its way from the engine.', {
      hint: 'Check the connection to the engine.',
    });
  return { tree: word, packFile, ignored: toIgnoredFiles(fields) };
}

function describeUnreadable(paths: readonly string[]): string {
  const named = listSome(
    paths.map((path) => safeLine(path, 200)),
    MAX_NAMED,
  );
  return `${named} cannot be read, so the change is not complete: give read permission with \`chmod u+rwX\`, or remove it if it is not needed`;
}

const MAX_NAMED = 5;

function firstError(complaint: string): string {
  const lines = complaint.trim().split('\n');
  return safeLine(lines.find((line) => line.startsWith('error: ')) ?? lines.at(-1) ?? '');
}

/** The fields of `git check-ignore -v -z`: source, line, pattern and path. The last record may be cut. */
function toIgnoredFiles(fields: readonly string[]): IgnoredFile[] {
  const files: IgnoredFile[] = [];
  for (let at = 0; at + 3 < fields.length && files.length < MAX_IGNORED; at += 4) {
    const [source = '', line = '', pattern = '', path = ''] = fields.slice(at, at + 4);
    const isFile = !source.startsWith('/');
    files.push({
      path: path.replace(/^\.\//, ''),
      rule: isFile ? `${source}:${line} \`${pattern}\`` : 'a rule of halo',
    });
  }
  return files;
}

/** The test reports that the base does not contain: commands leave them behind, and they belong to no change. */
async function findNewReports({ config, inputs, resources, signal }: Attempt): Promise<string[]> {
  const { reports } = config.tests;
  if (reports.length === 0) return [];
  const base = { gitDir: resources.mirrorDir, commit: inputs.base, signal };
  const known = await listFiles(base, ({ path }) => reports.includes(path));
  return reports.filter((report) => !known.some(({ path }) => path === report));
}
