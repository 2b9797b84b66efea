/** The result of one check. `fix` is the suggested fix if it is not ok. */
export interface Finding {
  name: string;
  ok: 'ok' | 'warn' | 'fail';
  says: string;
  fix?: string;
}

/** Merges failures with the same text: a fault that stops several checks, such as an engine that is down, is listed once. */
export function foldSame(findings: readonly Finding[]): Finding[] {
  const first = new Map<string, { finding: Finding; names: Set<string> }>();
  for (const finding of findings) {
    const key = finding.ok === 'fail' ? `${finding.says}\n${finding.fix ?? ''}` : JSON.stringify(finding);
    const before = first.get(key);
    if (before === undefined) first.set(key, { finding, names: new Set([finding.name]) });
    else before.names.add(finding.name);
  }
  return [...first.values()].map(({ finding, names }) => ({ ...finding, name: [...names].join(', ') }));
}
