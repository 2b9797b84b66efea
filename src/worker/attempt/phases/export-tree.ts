import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { safeLine } from '../../../core/safe-text.ts';
import { listFiles } from '../../../git/objects/tree-list.ts';
import { collectText } from '../../../lib/sinks.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { TRUSTED_IMAGE } from '../../../sandbox/docker/trusted-image.ts';
import { openFileSink } from '../../../store/file-sink.ts';
import type { Attempt } from '../../attempt-context.ts';
import { VIEW, WORKSPACE } from '../../workspace/sandbox-paths.ts';
import { failed, refuseBrokenExit } from '../../story-end.ts';
import type { Workspace } from '../../workspace.ts';

/** What the exporter says the workspace holds; nothing of it is trusted yet. */
export interface Exported {
  tree: string;
  /** A file with the pack of what is new in it. */
  packFile: string;
}

/** More than this is no story. */
const PACK_BYTES = 100 * 1024 * 1024;

const EXPORT_REPOSITORY = '/tmp/export.git';

/** The paths of the base's submodules, each with a NUL byte behind it. */
const SUBMODULES = '/tmp/submodules';

/**
 * Starts the sandbox that will read the workspace: halo's image, the volume read-only, git directory and index of
 * its own, so that nothing in the workspace's `.git` is ever loaded. It gets ready while the agent works.
 */
export function openExporter(attempt: Attempt, work: Workspace): Promise<Sandbox> {
  const exporter = startExporter(attempt, work);
  exporter.catch(() => {}); // whoever exports hears of it
  return exporter;
}

async function startExporter(attempt: Attempt, work: Workspace): Promise<Sandbox> {
  const sandbox = await attempt.startSandbox({
    image: TRUSTED_IMAGE,
    labels: attempt.labels('export'),
    user: attempt.user,
    workdir: '/tmp',
    env: { GIT_DIR: EXPORT_REPOSITORY, GIT_WORK_TREE: WORKSPACE },
    mounts: [
      ...attempt.repositoryMounts,
      { kind: 'volume', source: work.volume, target: WORKSPACE, readOnly: true, copyUp: false },
    ],
    limits: attempt.config.limits,
  });
  const { transport, base } = attempt;
  const links = transport === 'mount' ? undefined : await describeSubmodules(attempt);
  const script = prepareScript(base, links === undefined ? readBase(base) : readLinks(links.length));
  await sandbox.prepare(script, links && Readable.from([links]));
  return sandbox;
}

/** Snapshots the workspace: all files that git does not ignore, as a tree and a pack. */
export async function exportTree(attempt: Attempt, exporter: Promise<Sandbox>): Promise<Exported> {
  return attempt.phase('export', () => readWorkspace(attempt, exporter));
}

export async function readWorkspace(attempt: Attempt, exporter: Promise<Sandbox>): Promise<Exported> {
  const packFile = join(attempt.scratchDir, 'export.pack');
  const sandbox = await exporter;
  const stderr = collectText(2_000);
  const stdout = splitHead(openFileSink(packFile));
  const { wallMs, idleMs } = attempt.config.limits;
  const exit = await sandbox.run({
    script: exportScript(attempt),
    stdout: stdout.sink,
    stderr: stderr.sink,
    wallMs,
    idleMs,
    outputBytes: PACK_BYTES,
    signal: attempt.signal,
  });
  attempt.worker.inBackground(sandbox.remove());
  if (exit.ended === 'output') throw failed('POLICY_VIOLATION', 'the story changed more than 100 MiB (packed)');
  refuseBrokenExit(exit, { what: 'the export', limits: attempt.config.limits }, stderr.text());
  if (exit.exitCode !== 0) {
    const complaint = stderr.text().trim().split('\n');
    const why = safeLine(complaint.find((line) => line.startsWith('error: ')) ?? complaint.at(-1) ?? '');
    throw failed('POLICY_VIOLATION', `the workspace cannot be exported: ${why}`, stderr.text());
  }
  return { tree: stdout.head(), packFile };
}

/** The base's submodules, as `git update-index -z --index-info` reads them. */
async function describeSubmodules({ mirrorDir, base, signal }: Attempt): Promise<Buffer> {
  const links = await listFiles({ gitDir: mirrorDir, commit: base, signal }, ({ mode }) => mode === '160000');
  return Buffer.from(links.map(({ mode, id, path }) => `${mode} ${id}\t${path}\0`).join(''));
}

/** Makes the exporter's repository, and an index that has at least the base's submodules. */
function prepareScript(base: string, fillIndex: string[]): string {
  const format = base.length === 64 ? ' --object-format=sha256' : '';
  return [
    `git init -q --template=${format} && mkdir -p ${EXPORT_REPOSITORY}/objects/info`,
    ...fillIndex,
    `git ls-files -s -z | sed -zn 's/^160000 [^\\t]*\\t//p' > ${SUBMODULES}`,
    `git update-index -z --assume-unchanged --stdin < ${SUBMODULES}`,
  ].join('\n');
}

/** Where the view is mounted. */
function readBase(base: string): string[] {
  return [
    `echo ${VIEW}/objects > ${EXPORT_REPOSITORY}/objects/info/alternates`,
    `if [ -f ${VIEW}/shallow ]; then cp ${VIEW}/shallow ${EXPORT_REPOSITORY}/shallow; fi`,
    `git read-tree ${base}`,
  ];
}

/** Where it is not: they come on stdin, so many bytes. Without them the tree would lack submodules whose folder is empty. */
function readLinks(bytes: number): string[] {
  return [`head -c ${bytes} | git update-index -z --index-info`];
}

/** Prints the tree's id and then the pack; without a mirror to build on, the pack is the whole tree. */
function exportScript({ transport, base }: Attempt): string {
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
 * `git add` of a whole tree starts git in each submodule, where it goes by a `.git` that the agent wrote, so that it is
 * kept from looking at them. Named one by one, nothing is started: only their HEAD is read.
 */
function addSubmodules(): string[] {
  return ['--no-assume-unchanged', '--add --remove'].map((how) => `git update-index -z ${how} --stdin < ${SUBMODULES}`);
}

const LONGEST_HEAD = 100;

/** Separates the first line from the bytes after it. */
function splitHead(rest: Writable): { sink: Writable; head: () => string } {
  let head = '';
  let complete = false;
  // Whoever writes hears of it.
  rest.on('error', () => undefined);
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (complete) return void rest.write(chunk, done);
      const end = chunk.indexOf(0x0a);
      head += chunk.subarray(0, end < 0 ? chunk.length : end).toString('latin1');
      if (head.length > LONGEST_HEAD) return done(new Error('the exporter printed no tree'));
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
