import { HaloError } from '../failure/errors.ts';
import { visualSkeleton, quoteExactly } from '../text/look-alike.ts';

/** A repository of a batch, with the names of its dependencies. */
export interface BatchMember {
  name: string;
  deps: readonly string[];
  /** Lower values run first. */
  priority: number;
}

/**
 * Sorts members topologically, then by priority, then by position. Throws USAGE for duplicate names, unknown dependencies
 * and dependency cycles.
 */
export function orderBatch<M extends BatchMember>(members: readonly M[]): M[] {
  assertValidNames(members);
  const ordered: M[] = [];
  const placed = new Set<string>();
  let rest = [...members];
  while (rest.length > 0) {
    const [next] = rest
      .filter(({ deps }) => deps.every((name) => placed.has(name)))
      .sort((a, b) => a.priority - b.priority);
    if (next === undefined) throw circular(rest);
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
    throw new HaloError('USAGE', `${quoted(name)} depends on ${quoted(unknown)}, which the batch does not have.`, {
      hint: `Use one of its repositories: ${[...known].slice(0, 20).join(', ')}.`,
    });
  }
}

/** Finds the cycle among members that all depend on each other. */
function circular(rest: readonly BatchMember[]): HaloError {
  const left = new Map(rest.map((member) => [member.name, member]));
  const path: string[] = [];
  for (let member = rest[0]; member !== undefined && !path.includes(member.name);) {
    path.push(member.name);
    const dep = member.deps.find((name) => left.has(name));
    member = dep === undefined ? undefined : left.get(dep);
    if (member !== undefined && path.includes(member.name)) {
      const circle = [...path.slice(path.indexOf(member.name)), member.name];
      return new HaloError('USAGE', `Repositories of the batch depend on each other: ${circle.join(' → ')}.`, {
        hint: 'Remove one of these dependencies.',
      });
    }
  }
  return new HaloError('INTERNAL', 'The batch could not be sorted.');
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
