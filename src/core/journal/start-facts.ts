import { choiceReason, describeChoice, type MadeChoice } from '../agent-choice.ts';
import { LOCAL_ENGINE } from '../engine/engine-address.ts';
import type { EngineIdentity } from '../engine/engine-identity.ts';
import { fallbackName, type FallbackModel } from '../failure/model-use.ts';
import { safeLine } from '../text/safe-text.ts';
import { LINE_LENGTH } from '../transcript/excerpt.ts';

/**
 * What an attempt starts with. Declared here and in the table below, and nowhere else: the event, the states of story and
 * attempt, every surface, proofs and traces have what the table has.
 */
export interface StartFacts {
  /** Where its sandboxes run; absent in old journals. */
  engine?: EngineIdentity;
  /** Its agent, model or effort, if they are not those of the run. */
  choice?: MadeChoice;
  /** It does not use the first model of the run. */
  fallback?: FallbackModel;
}

type StartKey = keyof StartFacts;

/** How people see a fact. */
interface StartRow<T> {
  /** Its label, on surfaces that have labels. */
  kind: 'engine' | 'model';
  /** What leads to its words in a sentence. */
  joint: string;
  /** Of interest for a list of stories while they run, and not afterwards. */
  passing?: true;
  /** Not for people outside, such as readers of a pull request. */
  internal?: true;
  /** In a few words; undefined if a person need not know. */
  words: (value: T) => string | undefined;
}

const ROWS: { [K in StartKey]-?: StartRow<NonNullable<StartFacts[K]>> } = {
  engine: {
    kind: 'engine',
    joint: 'on the engine',
    internal: true,
    words: ({ name }) => (name === LOCAL_ENGINE ? undefined : name),
  },
  choice: {
    kind: 'model',
    joint: 'with',
    passing: true,
    words: (choice) => `${describeChoice(choice)} (${choiceReason(choice)})`,
  },
  fallback: {
    kind: 'model',
    joint: 'with',
    passing: true,
    internal: true,
    words: (fallback) => `${fallbackName(fallback)}: ${fallback.why}`,
  },
};

const KEYS = Object.keys(ROWS) as StartKey[];

/** What people should know of a start. The texts are safe to print. */
export interface StartFact extends Pick<StartRow<never>, 'kind' | 'passing' | 'internal'> {
  /** E.g. `build-2`. */
  text: string;
  /** E.g. `on the engine build-2`. */
  phrase: string;
}

/** What people should know of a start, in the order of the table. */
export function describeStart(start: StartFacts): StartFact[] {
  return KEYS.flatMap((key) => {
    const { joint, words, ...row } = ROWS[key] as StartRow<unknown>;
    const said = start[key] && words(start[key]);
    if (said === undefined) return [];
    const text = safeLine(said, 2 * LINE_LENGTH);
    return [{ ...row, text, phrase: `${joint} ${text}` }];
  });
}

/** The facts of an event or a state, without the rest of it. */
export function startFactsOf(from: StartFacts): StartFacts {
  return Object.fromEntries(KEYS.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]])));
}

/** A state after a start: with its facts, and without those of the one before. */
export function withStart<T extends StartFacts>(state: T, start: StartFacts): T {
  const next = { ...state };
  for (const key of KEYS) delete next[key];
  return { ...next, ...startFactsOf(start) };
}
