import { HaloError } from '../failure/errors.ts';
import { lookOf, spellOut } from '../look-alike.ts';

/** A repository of a batch, with the names of those that must be done before it. */
export interface BatchMember {
  name: string;
  deps: readonly string[];
  /** Smaller goes first among those that are ready. */
  priority: number;
}

/**
 * The members so that each comes after all it depends on; among those that are ready by priority, then as they stand.
 * Throws USAGE for a name given twice, a dependency that no member has, and a circle, which it shows.
 */
export function orderBatch<M extends BatchMember>(members: readonly M[]): M[] {
  checkNames(members);
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

function checkNames(members: readonly BatchMember[]): void {
  const names = new Map<string, string>();
  for (const { name } of members) {
    const earlier = names.get(lookOf(name));
    if (earlier !== undefined) {
      const twice = `The repository ${quoted(name)} is named twice.`;
      const alike = `The names ${spellOut(name)} and ${spellOut(earlier)} of two repositories look alike.`;
      throw new HaloError('USAGE', earlier === name ? twice : alike, {
        hint: 'Name each repository once; in a batch file, give each a name of its own.',
      });
    }
    names.set(lookOf(name), name);
  }
  const known = new Set(names.values());
  for (const { name, deps } of members) {
    const unknown = deps.find((dep) => !known.has(dep));
    if (unknown === undefined) continue;
    throw new HaloError('USAGE', `${quoted(name)} depends on ${quoted(unknown)}, which the batch does not have.`, {
      hint: `Its repositories: ${[...known].slice(0, 20).join(', ')}.`,
    });
  }
}

/** Each member that is left depends on another one that is left: following those leads round. */
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
        hint: 'Take one of these dependencies out.',
      });
    }
  }
  return new HaloError('INTERNAL', 'the order of a batch cannot be found');
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
