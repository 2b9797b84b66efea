import { HaloError } from '../failure/errors.ts';
import { findCycle } from './dependency-order.ts';
import { visualSkeleton, quoteExactly } from '../text/look-alike.ts';
import { closeSentence } from '../text/did-you-mean.ts';

/** A repository of a batch, with the names of its dependencies. */
export interface BatchMember {
  name: string;
  deps: readonly string[];
  /** Lower values run first. */
  priority: number;
}

/**
 * Sorts members: of those whose dependencies precede, the one with the lowest priority value is next, then the first. Throws USAGE for duplicate names, unknown dependencies
 * and dependency cycles.
 */
export function orderBatch<M extends BatchMember>(members: readonly M[]): M[] {
  assertValidNames(members);
  assertNoCycle(members);
  const ordered: M[] = [];
  const placed = new Set<string>();
  let rest = [...members];
  while (rest.length > 0) {
    const [next] = rest
      .filter(({ deps }) => deps.every((name) => placed.has(name)))
      .sort((a, b) => a.priority - b.priority);
    if (next === undefined) break;
    ordered.push(next);
    placed.add(next.name);
    rest = rest.filter((member) => member !== next);
  }
  return ordered;
}

function assertValidNames(members: readonly BatchMember[]): void {
  const names = new Map<string, string>();
  for (const { name } of members) {
    const earlier = names.get(visualSkeleton(name));
    if (earlier !== undefined) {
      const twice = `The repository ${quoted(name)} is named twice.`;
      const alike = `The names ${quoteExactly(name)} and ${quoteExactly(earlier)} of two repositories look alike.`;
      throw new HaloError('USAGE', earlier === name ? twice : alike, {
        hint: 'Name each repository once; in a batch file, give each a different name.',
      });
    }
    names.set(visualSkeleton(name), name);
  }
  const known = new Set(names.values());
  for (const { name, deps } of members) {
    const unknown = deps.find((dep) => !known.has(dep));
    if (unknown === undefined) continue;
    const lacks = `${quoted(name)} depends on ${quoted(unknown)}, which the batch does not have`;
    throw new HaloError('USAGE', `${lacks}${closeSentence(unknown, known)}`, {
      hint: `Use one of its repositories: ${[...known].slice(0, 20).join(', ')}.`,
    });
  }
}

function assertNoCycle(members: readonly BatchMember[]): void {
  const byName = new Map(members.map((member) => [member.name, member]));
  const cycle = findCycle(members, ({ deps }) => deps.flatMap((name) => byName.get(name) ?? []));
  if (cycle === undefined) return;
  const names = [...cycle, ...cycle.slice(0, 1)].map(({ name }) => name).join(' → ');
  throw new HaloError('USAGE', `Repositories of the batch depend on each other: ${names}.`, {
    hint: 'Remove one of these dependencies.',
  });
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
