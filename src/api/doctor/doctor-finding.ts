/** The result of one check. `fix` is the suggested fix if it is not ok. */
export interface Finding {
  name: string;
  ok: 'ok' | 'warn' | 'fail';
  says: string;
  fix?: string;
}

/** Merges failures with the same text: a fault that stops several checks, such as an engine that is down, is listed once. */
export function foldSame(findings: readonly Finding[]): Finding[] {
  const first = new Map<string, Finding>();
  for (const finding of findings) {
    const key = finding.ok === 'fail' ? `${finding.says}\n${finding.fix ?? ''}` : JSON.stringify(finding);
    const before = first.get(key);
    if (before === undefined) first.set(key, { ...finding });
    else if (finding.ok === 'fail' && !before.name.split(', ').includes(finding.name))
      before.name += `, ${finding.name}`;
  }
  return [...first.values()];
}
