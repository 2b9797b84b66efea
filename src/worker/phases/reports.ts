import type { TestCase } from '../../core/test-case.ts';
import { collectTests } from '../../core/test-formats/collect.ts';
import { readTests } from '../../core/test-report/test-report.ts';
import { maskInto } from '../../lib/secrets/masking-sink.ts';
import { collectText, discard } from '../../lib/sinks.ts';
import { TRUSTED_IMAGE } from '../../sandbox/docker/trusted-image.ts';
import type { Attempt } from '../attempt-context.ts';
import { WORKSPACE } from '../workspace/sandbox-paths.ts';
import type { Workspace } from '../workspace.ts';

/** A larger report file is not read. */
const FILE_BYTES = 4 * 1024 * 1024;

/**
 * The tests that gates named: in what they printed (`logs`, artifacts of the attempt), and in the configured report
 * files. Null when there are none to be read.
 */
export async function readReports(attempt: Attempt, clean: Workspace, logs: string[]): Promise<TestCase[] | null> {
  const { worker, place, config } = attempt;
  const written = config.tests.reports.length === 0 ? [] : await readFiles(attempt, clean);
  const tests = collectTests();
  let found: TestCase[] | undefined;
  // One after the other: each may be megabytes long.
  for (const log of logs) found = readTests((await worker.store.readArtifact(place, log)) ?? '', tests) ?? found;
  for (const text of written) found = readTests(text, tests) ?? found;
  return found ?? null;
}

/** By halo's own image with the workspace read-only, one sandbox a file: whatever it holds is only text here. */
async function readFiles(attempt: Attempt, clean: Workspace): Promise<string[]> {
  return Promise.all(attempt.config.tests.reports.map((path) => readFile(attempt, clean, path)));
}

async function readFile(attempt: Attempt, clean: Workspace, path: string): Promise<string> {
  const { wallMs, idleMs } = attempt.config.limits;
  const sandbox = await attempt.startSandbox({
    image: TRUSTED_IMAGE,
    labels: attempt.labels('report'),
    user: attempt.user,
    workdir: WORKSPACE,
    env: {},
    mounts: [{ kind: 'volume', source: clean.volume, target: WORKSPACE, readOnly: true, copyUp: false }],
    limits: attempt.config.limits,
  });
  const stdout = collectText(FILE_BYTES);
  const file = `'${path}'`;
  const exit = await sandbox.run({
    script: `test -f ${file} && test "$(wc -c < ${file})" -le ${FILE_BYTES} && cat -- ${file}`,
    stdout: maskInto(attempt.worker.masker, stdout.sink),
    stderr: discard(),
    wallMs,
    idleMs,
    outputBytes: 2 * FILE_BYTES,
    signal: attempt.signal,
  });
  attempt.worker.inBackground(sandbox.remove());
  return exit.exitCode === 0 ? stdout.text() : '';
}
