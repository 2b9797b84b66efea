import { collectTests } from '../../../core/test-report/formats/collect-tests.ts';
import { readTests } from '../../../core/test-report/formats/read-tests.ts';
import type { ReportedTests } from '../../../core/test-report/test-report.ts';
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
 * files.
 */
export async function readTestReports(
  attempt: SandboxContext,
  clean: Workspace,
  logs: string[],
): Promise<ReportedTests> {
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
): Promise<ReportedTests> {
  const written = await readFiles(attempt, clean);
  const tests = collectTests();
  // Sequentially, because each may be megabytes long.
  let isRead = false;
  for (const output of outputs) if (readTests(await output(), tests) !== undefined) isRead = true;
  for (const { path, text, fault } of written) {
    if (fault !== undefined) tests.miss(`${path} ${fault}`);
    else if (readTests(text, tests) !== undefined) isRead = true;
    else tests.miss(`${path} is not a report that halo reads`);
  }
  const unread = tests.missed();
  // A report may have no tests yet.
  const isKnown = tests.found.length > 0 || (isRead && unread.length === 0);
  return { tests: isKnown ? tests.found : null, unread };
}

interface ReportFile {
  path: string;
  text: string;
  /** Why it was not read. */
  fault?: string;
}

/** Reads each file in its own sandbox of halo's image, with a read-only workspace. */
async function readFiles(attempt: SandboxContext, clean: Workspace): Promise<ReportFile[]> {
  return Promise.all(attempt.config.tests.reports.map((path) => readFile(attempt, clean, path)));
}

/** The exits of the script that reads a file. */
const FAULTS: Record<number, string> = {
  3: 'was not written by the gates',
  4: `is larger than ${MAX_FILE_BYTES / 1024 ** 2} MiB`,
};

async function readFile(attempt: SandboxContext, clean: Workspace, path: string): Promise<ReportFile> {
  const helper = { phase: 'report', volume: clean.volume, readOnly: true, repositories: false, workdir: WORKSPACE };
  const sandbox = await startHelper(attempt, helper);
  const stdout = tailSink(MAX_FILE_BYTES);
  const file = `'${path}'`;
  const exit = await runInHelper(attempt, sandbox, {
    script: `test -f ${file} || exit 3; test "$(wc -c < ${file})" -le ${MAX_FILE_BYTES} || exit 4; cat -- ${file}`,
    stdout: maskingSink(attempt.worker.masker, stdout.sink),
    stderr: discardSink(),
    outputBytes: 2 * MAX_FILE_BYTES,
  });
  if (exit.exitCode === 0) return { path, text: stdout.text() };
  return { path, text: '', fault: FAULTS[exit.exitCode ?? 0] ?? 'could not be read' };
}
