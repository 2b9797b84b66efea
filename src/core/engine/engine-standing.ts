/**
 * How a worker treats its engine. `answers`: it takes stories. `silent`: it takes none, but the running ones continue,
 * because the engine may be slow or start again, or something is missing there. `gone`: the running ones start again, on other engines if there are any.
 */
export type EngineStanding = 'answers' | 'silent' | 'gone';

/** What is known about an engine that is asked regularly. */
export interface EngineAnswers {
  /** Whether it answered the last time. */
  answered: boolean;
  /** Whether it has what every story needs. */
  isReady: boolean;
  /** How long it has not answered, in ms. */
  silentMs: number;
}

/** `goneMs`: the silence after which its stories are taken from it; Infinity: never. */
export function judgeEngine({ answered, isReady, silentMs }: EngineAnswers, goneMs: number): EngineStanding {
  if (answered) return isReady ? 'answers' : 'silent';
  return silentMs < goneMs ? 'silent' : 'gone';
}
