import type { Reporter, TestModule, Vitest } from 'vitest/node';

/** Prints after the tests why some were skipped: a line for each reason, with the number of tests and their files. */
export default class SkipReporter implements Reporter {
  private isFiltered = false;

  onInit({ config }: Vitest): void {
    this.isFiltered = config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = describeSkipped(modules, this.isFiltered);
    if (lines.length > 0) process.stdout.write(`\nSkipped:\n${lines.join('\n')}\n\n`);
  }
}

/** With `isFiltered`, tests without a reason are omitted: `-t` did not select them. */
export function describeSkipped(modules: readonly TestModule[], isFiltered = false): string[] {
  const byReason = new Map<string, { count: number; files: Set<string> }>();
  for (const module of modules)
    for (const test of module.children.allTests('skipped')) {
      const result = test.result();
      const reason = test.meta().skipReason ?? (result.state === 'skipped' ? result.note : undefined);
      if (reason === undefined && isFiltered) continue;
      const entry = byReason.get(reason ?? 'no reason given') ?? { count: 0, files: new Set() };
      entry.count += 1;
      entry.files.add(module.relativeModuleId);
      byReason.set(reason ?? 'no reason given', entry);
    }
  return [...byReason].map(([reason, { count, files }]) => `  ${reason}: ${count} (${[...files].sort().join(', ')})`);
}
