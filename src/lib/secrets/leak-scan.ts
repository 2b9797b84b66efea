import { loadLeakRules, type LeakRule } from './leak-rules.ts';

/** Text that a rule of gitleaks takes for a secret. */
export interface Leak {
  /** The id of the rule. */
  rule: string;
  secret: string;
}

/** What a change may cost: a hostile file could have a keyword of each rule in each line. */
export interface LeakBudget {
  /** Bytes that rules may still read; a text counts once for each rule that reads it. */
  bytes: number;
}

/** Reported once for text that is not searched because the budget is used up. */
export const NOT_SEARCHED = 'not-searched';

/** Text is searched in blocks of about this size, which end with a line if they can. */
const BLOCK = 64 * 1024;
/** Bytes that rules read of a block, which holds up the process; sources need less than a tenth of it. */
const MAX_BLOCK_BYTES = 4 * 1024 * 1024;
/** A block begins with the end of the one before, so that a match of several lines is seen whole. */
const OVERLAP = 2 * 1024;
/** How far a rule reads from a keyword, in bytes: to the end of the next line, or for a wide rule as far as this. */
const REACH = 1536;

/**
 * Finds what looks like a secret in a stream: where a keyword of a rule is, the rule reads the lines around it. Each
 * secret is returned once for each rule.
 */
export function openLeakScan(budget: LeakBudget): { push(chunk: Buffer): void; end(): Leak[] } {
  const found = new Map<string, Leak>();
  const add = (rule: string, secret: string) => found.set(`${rule}: ${secret}`, { rule, secret });
  let pending = '';

  const search = (text: string) => {
    let left = Math.min(budget.bytes, MAX_BLOCK_BYTES);
    for (const [rule, places] of findPlaces(text)) {
      for (const [from, to] of places) {
        left -= to - from;
        budget.bytes -= to - from;
        if (left < 0) {
          add(NOT_SEARCHED, '');
          return;
        }
        for (const secret of rule.find(text.slice(from, to))) add(rule.id, secret);
      }
    }
  };

  return {
    push(chunk) {
      pending += chunk.toString('latin1');
      if (pending.length < BLOCK) return;
      const end = pending.lastIndexOf('\n') + 1;
      const done = end > OVERLAP ? end : pending.length;
      search(pending.slice(0, done));
      pending = pending.slice(Math.max(lineStart(pending, done - OVERLAP), done - 2 * OVERLAP));
    },
    end() {
      search(pending);
      return [...found.values()];
    },
  };
}

type Place = [from: number, to: number];

/** What each rule has to read, without overlaps. */
function findPlaces(text: string): Map<LeakRule, Place[]> {
  const { keyword, rules } = loadLeakRules();
  const lower = text.toLowerCase();
  const places = new Map<LeakRule, Place[]>();
  keyword.lastIndex = 0;
  for (let hit = keyword.exec(lower); hit !== null; hit = keyword.exec(lower)) {
    // Another keyword may begin within this one.
    keyword.lastIndex = hit.index + 1;
    for (const rule of rules.get(hit[0]) ?? []) {
      const [from, to] = rule.isWide ? placeAround(text, hit.index) : linesFrom(text, hit.index);
      const known = places.get(rule);
      const last = known?.at(-1);
      if (known === undefined) places.set(rule, [[from, to]]);
      else if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
      else known.push([from, to]);
    }
  }
  return places;
}

/** The line and the next one, as far as they are near. */
function linesFrom(text: string, at: number): Place {
  const end = text.indexOf('\n', at);
  const next = end === -1 ? -1 : text.indexOf('\n', end + 1);
  return [Math.max(lineStart(text, at), at - REACH), Math.min(next === -1 ? text.length : next + 1, at + REACH)];
}

/** Whole lines around a place, or what is near of longer ones. */
function placeAround(text: string, at: number): Place {
  const end = text.indexOf('\n', at + REACH);
  return [
    Math.max(lineStart(text, at - REACH), at - 2 * REACH),
    Math.min(end === -1 ? text.length : end, at + 2 * REACH),
  ];
}

function lineStart(text: string, at: number): number {
  return at <= 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
}
