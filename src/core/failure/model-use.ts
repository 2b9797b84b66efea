import { formatElapsed, msBetween } from '../text/format-elapsed.ts';

/** One of several keys of a provider that is not used for a model until a time. */
export interface KeyPause {
  model: string;
  /** Its position, from 1, and the number of keys. */
  key: number;
  of: number;
  /** The variable, file or command that it comes from. */
  source: string;
  /** Its provider requested a pause, or refused the key. */
  why: 'provider' | 'refused';
  /** ISO 8601 */
  until: string;
}

/** The model of an attempt that does not use the first model of its run, because that one has a long pause or has failed. */
export interface FallbackModel {
  /** Another agent, of `fallback`. */
  agent?: string;
  model: string;
  /** A sentence. */
  why: string;
}

/** The part of a story's state about its agent and model. */
export interface StoryModel {
  /** The agents that the attempt has left, because their providers failed, and why. */
  left?: LeftAgent[];
}

/** An agent that an attempt has left. */
export interface LeftAgent {
  agent: string;
  /** A sentence. */
  why: string;
}

/** The part of a run's state about pauses of its models. */
export interface ModelUse {
  /** The latest pause of model requests. */
  modelPause?: { model: string; why: 'provider' | 'rate'; until: string };
  /** The latest pause of each key and model. */
  keyPauses?: KeyPause[];
}

/** Describes a pause of a key, e.g. `key 2 of 3 (OPENAI_KEY_2) is not used for m for 12m 00s: …`. `now`: ISO 8601. */
export function describeKeyPause({ model, key, of, source, why, until }: KeyPause, now: string): string {
  const reason = why === 'refused' ? 'the provider refused it' : 'the provider asked for a pause';
  return `key ${key} of ${of} (${source}) is not used for ${model} for ${formatElapsed(msBetween(now, until))}: ${reason}`;
}

/** Names what an attempt uses instead, such as `claude, claude-sonnet-5-5`, or `the model m`. */
export function fallbackName({ agent, model }: FallbackModel): string {
  return agent === undefined ? `the model ${model}` : [agent, model].filter((part) => part !== '').join(', ');
}
