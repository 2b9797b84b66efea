import type { DialectId } from '../core/prd.ts';
import type { Dialect, PrdDocument } from './dialect.ts';
import { hanuman } from './dialects/hanuman.ts';
import { ralph } from './dialects/ralph.ts';

/** Every dialect by its id, in the order in which they are tried. */
export const DIALECTS = { hanuman, ralph } as const satisfies Record<DialectId, Dialect>;

/** The dialect that a document is written in, by its content; undefined when it is none that halo knows. */
export function detectDialect(document: PrdDocument): Dialect | undefined {
  return Object.values(DIALECTS).find((dialect) => dialect.detects(document));
}
