import type { Reporter, TestModule } from 'vitest/node';

const MAX_LINES = 60;

/** Prints the failures once more, a line each, after the tables: the end of a CI log then says what failed. */
export default class FailureReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly { message: string }[] = []): void {
    const lines = describeFailures(modules, errors);
    if (lines.length > 0) process.stdout.write(`\nFailed:\n${lines.slice(0, MAX_LINES).join('\n')}\n`);
  }
}

/** Failed tests, files that could not be loaded, and errors outside of tests. */
function describeFailures(modules: readonly TestModule[], errors: readonly { message: string }[]): string[] {
  const lines = modules.flatMap((module) => [
    ...module.errors().map(({ message }) => describe(module.relativeModuleId, message)),
    ...[...module.children.allSuites()].flatMap((suite) =>
      suite.errors().map(({ message }) => describe(`${module.relativeModuleId} ${suite.fullName}`, message)),
    ),
    ...[...module.children.allTests('failed')].map((test) =>
      describe(`${module.relativeModuleId} ${test.fullName}`, test.result().errors?.[0]?.message ?? ''),
    ),
  ]);
  return [...lines, ...errors.map(({ message }) => describe('outside of tests', message))];
}

function describe(where: string, message: string): string {
  const text = message.replace(/\s+/g, ' ').trim();
  return `  ${where}: ${text.length > 300 ? `${text.slice(0, 300)}…` : text}`;
}
