import { type TestCase, collectTests } from '../../../core/test-report/formats/collect-tests.ts';
import { readTests } from '../../../core/test-report/test-report.ts';
import { maskingSink } from '../../../lib/secrets/masking-sink.ts';
import { tailSink, discardSink } from '../../../lib/streams.ts';
import type { Attempt } from '../open-attempt.ts';
import { startHelper, runInHelper } from '../../workspace/helper-sandbox.ts';
import { WORKSPACE } from '../../workspace/sandbox-paths.ts';
import type { Workspace } from '../../workspace/workspace.ts';

/** A larger report file is not read. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Reads the tests that gates reported in their output (`logs`, artifacts of the attempt) and in the configured report
 * files. Null if there are none.
 */
export async function readTestReports(attempt: Attempt, clean: Workspace, logs: string[]): Promise<TestCase[] | null> {
  const { worker, identity, config } = attempt;
  const written = config.tests.reports.length === 0 ? [] : await readFiles(attempt, clean);
  const tests = collectTests();
  let found: TestCase[] | undefined;
  // Sequentially, because each may be megabytes long.
  for (const log of logs)
    found = readTests((await worker.store.readArtifact(identity.location, log)) ?? '', tests) ?? found;
  for (const text of written) found = readTests(text, tests) ?? found;
  return found ?? null;
}

/** Reads each file in its own sandbox of halo's image, with a read-only workspace. */
async function readFiles(attempt: Attempt, clean: Workspace): Promise<string[]> {
  return Promise.all(attempt.config.tests.reports.map((path) => readFile(attempt, clean, path)));
}

async function readFile(attempt: Attempt, clean: Workspace, path: string): Promise<string> {
  const helper = { phase: 'report', volume: clean.volume, readOnly: true, repositories: false, workdir: WORKSPACE };
  const sandbox = await startHelper(attempt, helper);
  const stdout = tailSink(MAX_FILE_BYTES);
  const file = `'${path}'`;
  const exit = await runInHelper(attempt, sandbox, {
    script: `test -f ${file} && test "$(wc -c < ${file})" -le ${MAX_FILE_BYTES} && cat -- ${file}`,
    stdout: maskingSink(attempt.worker.masker, stdout.sink),
    stderr: discardSink(),
    outputBytes: 2 * MAX_FILE_BYTES,
  });
  return exit.exitCode === 0 ? stdout.text() : '';
}
