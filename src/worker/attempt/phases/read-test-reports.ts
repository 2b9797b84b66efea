import { type TestCase, collectTests } from '../../../core/test-report/formats/collect-tests.ts';
import { readTests } from '../../../core/test-report/formats/read-tests.ts';
import { maskingSink } from '../../../lib/secrets/masker.ts';
import { tailSink, discardSink } from '../../../lib/streams.ts';
import type { SandboxContext } from '../open-attempt.ts';
import { startHelper, runInHelper } from '../../workspace/helper-sandbox.ts';
import { WORKSPACE } from '../../workspace/sandbox-paths.ts';
import type { Workspace } from '../../workspace/workspace.ts';

/** A larger report file is not read. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Reads the tests that gates reported in their output (`logs`, artifacts of the attempt) and in the configured report
 * files. Null if there are none.
 */
export async function readTestReports(
  attempt: SandboxContext,
  clean: Workspace,
  logs: string[],
): Promise<TestCase[] | null> {
  const { worker, identity } = attempt;
  const read = async (log: string) => (await worker.store.readArtifact(identity.location, log)) ?? '';
  return readPrintedReports(
    attempt,
    clean,
    logs.map((log) => () => read(log)),
  );
}

/** The same for output that is not among the artifacts. */
export async function readPrintedReports(
  attempt: SandboxContext,
  clean: Workspace,
  outputs: readonly (() => string | Promise<string>)[],
): Promise<TestCase[] | null> {
  const written = await readFiles(attempt, clean);
  const tests = collectTests();
  let found: TestCase[] | undefined;
  // Sequentially, because each may be megabytes long.
  for (const output of outputs) found = readTests(await output(), tests) ?? found;
  for (const text of written) found = readTests(text, tests) ?? found;
  return found ?? null;
}

/** Reads each file in its own sandbox of halo's image, with a read-only workspace. */
async function readFiles(attempt: SandboxContext, clean: Workspace): Promise<string[]> {
  return Promise.all(attempt.config.tests.reports.map((path) => readFile(attempt, clean, path)));
}

async function readFile(attempt: SandboxContext, clean: Workspace, path: string): Promise<string> {
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
