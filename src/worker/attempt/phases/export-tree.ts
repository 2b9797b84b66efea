import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { Transport } from '../../../config/config.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { listFiles } from '../../../git/objects/trees.ts';
import { tailSink } from '../../../lib/streams.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { openFileSink } from '../../../store/artifact-store.ts';
import type { Attempt } from '../open-attempt.ts';
import { runInHelper, startHelper } from '../../workspace/helper-sandbox.ts';
import { VIEW, WORKSPACE } from '../../workspace/sandbox-paths.ts';
import { attemptFailed, assertExited } from '../attempt-outcome.ts';
import type { Workspace } from '../../workspace/workspace.ts';

/** The exporter's answer. Nothing in it is trusted yet. */
export interface ExportedTree {
  tree: string;
  /** A file with the pack of the new objects. */
  packFile: string;
}

/** A larger pack is refused. */
const MAX_PACK_BYTES = 100 * 1024 * 1024;

const EXPORT_REPOSITORY = '/tmp/export.git';

/** A file with the paths of the base's submodules, NUL-terminated. */
const SUBMODULES = '/tmp/submodules';

/**
 * Starts the sandbox that will read the workspace: halo's image, a read-only volume, and its own git directory and index,
 * so that nothing in the workspace's `.git` is loaded. It starts while the agent works.
 */
export function openExporter(attempt: Attempt, work: Workspace): Promise<Sandbox> {
  const exporter = startExporter(attempt, work);
  exporter.catch(() => {}); // observed by the export; this avoids an unhandled rejection
  return exporter;
}

async function startExporter(attempt: Attempt, work: Workspace): Promise<Sandbox> {
  const sandbox = await startHelper(attempt, {
    phase: 'export',
    volume: work.volume,
    readOnly: true,
    repositories: true,
    workdir: '/tmp',
    env: { GIT_DIR: EXPORT_REPOSITORY, GIT_WORK_TREE: WORKSPACE },
  });
  const { base } = attempt.inputs;
  const { transport } = attempt.resources;
  const links = transport === 'mount' ? undefined : await describeSubmodules(attempt);
  const fillIndex = links === undefined ? readBase(base) : readLinks(links.length);
  const script = prepareScript(base, [...ignorePaths(await findNewReports(attempt)), ...fillIndex]);
  await sandbox.prepare(script, links && Readable.from([links]));
  return sandbox;
}

/** Exports all files of the workspace that git does not ignore, as a tree and a pack. */
export async function exportTree(attempt: Attempt, exporter: Promise<Sandbox>): Promise<ExportedTree> {
  return attempt.journal.phase('export', () => readWorkspace(attempt, exporter));
}

export async function readWorkspace(attempt: Attempt, exporter: Promise<Sandbox>): Promise<ExportedTree> {
  const packFile = join(attempt.resources.scratchDir, 'export.pack');
  const sandbox = await exporter;
  const stderr = tailSink(2_000);
  const stdout = splitHead(openFileSink(packFile));
  const exit = await runInHelper(attempt, sandbox, {
    script: exportScript(attempt.resources.transport, attempt.inputs.base),
    stdout: stdout.sink,
    stderr: stderr.sink,
    outputBytes: MAX_PACK_BYTES,
  });
  if (exit.ended === 'output') throw attemptFailed('POLICY_VIOLATION', 'the story changed more than 100 MiB (packed)');
  assertExited(exit, { what: 'the export', limits: attempt.config.limits }, stderr.text());
  if (exit.exitCode !== 0) {
    const complaint = stderr.text().trim().split('\n');
    const why = safeLine(complaint.find((line) => line.startsWith('error: ')) ?? complaint.at(-1) ?? '');
    throw attemptFailed('POLICY_VIOLATION', `the workspace cannot be exported: ${why}`, stderr.text());
  }
  return { tree: stdout.head(), packFile };
}

/** The test reports that the base does not contain: commands leave them behind, and they belong to no change. */
async function findNewReports({ config, inputs, resources, signal }: Attempt): Promise<string[]> {
  const { reports } = config.tests;
  if (reports.length === 0) return [];
  const base = { gitDir: resources.mirrorDir, commit: inputs.base, signal };
  const known = await listFiles(base, ({ path }) => reports.includes(path));
  return reports.filter((report) => !known.some(({ path }) => path === report));
}

/** The paths are plain: `isReportPath`. */
function ignorePaths(paths: readonly string[]): string[] {
  const excludes = `${EXPORT_REPOSITORY}/info/exclude`;
  return paths.map((path) => `mkdir -p ${EXPORT_REPOSITORY}/info && echo '/${path}' >> ${excludes}`);
}

/** The base's submodules, as `git update-index -z --index-info` reads them. */
async function describeSubmodules({ inputs, resources, signal }: Attempt): Promise<Buffer> {
  const base = { gitDir: resources.mirrorDir, commit: inputs.base, signal };
  const links = await listFiles(base, ({ mode }) => mode === '160000');
  return Buffer.from(links.map(({ mode, id, path }) => `${mode} ${id}\t${path}\0`).join(''));
}

/** Creates the exporter's repository and an index that contains at least the base's submodules. */
function prepareScript(base: string, fillIndex: string[]): string {
  const format = base.length === 64 ? ' --object-format=sha256' : '';
  return [
    `git init -q --template=${format} && mkdir -p ${EXPORT_REPOSITORY}/objects/info`,
    ...fillIndex,
    `git ls-files -s -z | sed -zn 's/^160000 [^\\t]*\\t//p' > ${SUBMODULES}`,
    `git update-index -z --assume-unchanged --stdin < ${SUBMODULES}`,
  ].join('\n');
}

/** For a mounted base view: reads the index from it. */
function readBase(base: string): string[] {
  return [
    `echo ${VIEW}/objects > ${EXPORT_REPOSITORY}/objects/info/alternates`,
    `if [ -f ${VIEW}/shallow ]; then cp ${VIEW}/shallow ${EXPORT_REPOSITORY}/shallow; fi`,
    `git read-tree ${base}`,
  ];
}

/** Without a mounted base: reads submodule entries from stdin. Otherwise the tree would lack submodules with an empty folder. */
function readLinks(bytes: number): string[] {
  return [`head -c ${bytes} | git update-index -z --index-info`];
}

/** Prints the tree's id, then the pack. Without a mounted base, the pack holds the whole tree. */
function exportScript(transport: Transport, base: string): string {
  const wanted = transport === 'mount' ? `"$tree" ^${base}` : '"$tree"';
  return [
    'set -e',
    `cd ${WORKSPACE}`,
    'git add -A .',
    ...addSubmodules(),
    'tree=$(git write-tree)',
    'echo "$tree"',
    `printf '%s\\n' ${wanted} | git pack-objects --revs --thin --stdout -q --delta-base-offset`,
  ].join('\n');
}

/**
 * `git add` of a whole tree starts git in each submodule, with a `.git` that the agent wrote; assume-unchanged prevents
 * that. If submodules are named one by one, git starts no process and only reads their HEAD.
 */
function addSubmodules(): string[] {
  return ['--no-assume-unchanged', '--add --remove'].map((how) => `git update-index -z ${how} --stdin < ${SUBMODULES}`);
}

const MAX_HEAD_LENGTH = 100;

/** Separates the first line from the bytes after it. */
function splitHead(rest: Writable): { sink: Writable; head: () => string } {
  let head = '';
  let complete = false;
  // The writer receives the error; this avoids an uncaught event.
  rest.on('error', () => undefined);
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (complete) return void rest.write(chunk, done);
      const end = chunk.indexOf(0x0a);
      head += chunk.subarray(0, end < 0 ? chunk.length : end).toString('latin1');
      if (head.length > MAX_HEAD_LENGTH) return done(new Error('the exporter printed no tree'));
      if (end < 0) return done();
      complete = true;
      rest.write(chunk.subarray(end + 1), done);
    },
    final: (done) => void rest.end(done),
    destroy: (error, done) => {
      rest.destroy();
      done(error);
    },
  });
  return { sink, head: () => head };
}
