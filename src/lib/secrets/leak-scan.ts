import type * as Re2js from 're2js';
import data from './leak-rules.json' with { type: 'json' };
import { loadRe2 } from '../re2.ts';

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

/** A rule as in `leak-rules.json`. Its pattern is in RE2 syntax, so matching is linear in the text. */
interface RuleData {
  id: string;
  regex: string;
  /** In lower case; a match contains one of them. */
  keywords: string[];
  /** A secret with at most this entropy, in bits per character, is a name or an example. */
  entropy?: number;
  /** The number of the group with the secret. Absent: the first one that is not empty, or the match. */
  group?: number;
  /** The rule is about files whose path matches. */
  path?: string;
  allow: AllowData[];
}

/** What makes a match harmless. */
interface AllowData {
  target?: string;
  regexes: string[];
  stopwords: string[];
}

/** A match of a rule. */
interface LeakMatch {
  secret: string;
  match: string;
  /** The lines of the match. */
  line: string;
}

type Compiled = ReturnType<typeof Re2js.RE2JS.compile>;

const RULES: readonly RuleData[] = data.rules;

/** A rule of gitleaks. It is compiled when it is first used, because few texts need more than some of the rules. */
class LeakRule {
  private readonly data: RuleData;
  private compiled: Compiled | undefined;

  constructor(rule: RuleData) {
    this.data = rule;
  }

  get id(): string {
    return this.data.id;
  }

  get keywords(): readonly string[] {
    return this.data.keywords;
  }

  /** Whether a match can have more than two lines. */
  get isWide(): boolean {
    return /\(\?s|\[\\r\\n\]/.test(this.data.regex);
  }

  /** Finds secrets in a part of a text, except those that are names, placeholders or examples. */
  find(text: string): string[] {
    this.compiled ??= compile(this.data.regex);
    const matcher = this.compiled.matcher(text);
    const found: string[] = [];
    while (matcher.find()) {
      const match = matcher.group() ?? '';
      const secret = this.secretOf(matcher, match);
      if (entropyOf(secret) <= (this.data.entropy ?? -1)) continue;
      const line = linesAround(text, matcher.start(), matcher.end());
      if (![data.allow, ...this.data.allow].some((allow) => allows(allow, { secret, match, line }))) found.push(secret);
    }
    return found;
  }

  private secretOf(matcher: ReturnType<Compiled['matcher']>, match: string): string {
    if (this.data.group !== undefined) return matcher.group(this.data.group) ?? '';
    for (let group = 1; group <= matcher.groupCount(); group++) {
      const text = matcher.group(group) ?? '';
      if (text !== '') return text;
    }
    return match;
  }
}

/** Whether a rule is about files with this path, and the file is not one that tools write (a lockfile, a picture). */
export function isSearched(ruleId: string, path: string): boolean {
  const rule = RULES.find(({ id }) => id === ruleId);
  if (rule?.path !== undefined && !compile(rule.path).matcher(path).find()) return false;
  return !data.allow.paths.some((source) => compile(source).matcher(path).find());
}

let loaded: { keyword: RegExp; rules: ReadonlyMap<string, readonly LeakRule[]> } | undefined;

/** All rules, by each keyword that may begin at the same place, and what finds the longest keyword in lower-case text. */
function loadLeakRules(): NonNullable<typeof loaded> {
  return (loaded ??= load());
}

function load(): NonNullable<typeof loaded> {
  const rules = RULES.map((rule) => new LeakRule(rule));
  const keywords = [...new Set(rules.flatMap((rule) => rule.keywords))].sort((a, b) => b.length - a.length);
  const escaped = keywords.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return {
    keyword: new RegExp(escaped.join('|'), 'g'),
    rules: new Map(
      keywords.map((found) => [found, rules.filter((rule) => rule.keywords.some((word) => found.startsWith(word)))]),
    ),
  };
}

const compiledSources = new Map<string, Compiled>();

function compile(source: string): Compiled {
  let compiled = compiledSources.get(source);
  if (compiled === undefined) {
    const RE2JS = loadRe2();
    compiled = RE2JS.compile(source);
    compiledSources.set(source, compiled);
  }
  return compiled;
}

function allows({ target = 'secret', regexes, stopwords }: AllowData, found: LeakMatch): boolean {
  const text = target === 'line' ? found.line : target === 'match' ? found.match : found.secret;
  const secret = found.secret.toLowerCase();
  return (
    regexes.some((source) => compile(source).matcher(text).find()) || stopwords.some((word) => secret.includes(word))
  );
}

function linesAround(text: string, from: number, to: number): string {
  const end = text.indexOf('\n', to);
  return text.slice(text.lastIndexOf('\n', from - 1) + 1, end === -1 ? text.length : end);
}

/** Shannon's entropy, in bits per character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let entropy = 0;
  for (const count of counts.values()) entropy -= (count / text.length) * Math.log2(count / text.length);
  return entropy;
}
