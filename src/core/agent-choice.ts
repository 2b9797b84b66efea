import type { Effort } from './agent-options.ts';

/** Agent, model and effort, where they are not those of the run. */
export interface AgentChoice {
  agent?: string;
  model?: string;
  effort?: Effort;
}

/** The choice of an attempt, and what made it. */
export interface MadeChoice extends AgentChoice {
  agent: string;
  /** The fields of the story, or a route. */
  by: 'story' | 'route';
  /** Which route, from 1. */
  route?: number;
}

/** Describes a choice in a few words, such as `claude, claude-opus-5-5, effort high`. */
export function describeChoice({ agent, model, effort }: AgentChoice): string {
  return [agent, model, effort && `effort ${effort}`].filter((part) => part !== undefined).join(', ');
}

/** What made a choice, for people. */
export function choiceReason({ by, route }: Pick<MadeChoice, 'by' | 'route'>): string {
  switch (by) {
    case 'story':
      return 'its fields in the PRD';
    case 'route':
      return `route ${route ?? ''}`;
  }
}
