import type { Readable } from 'node:stream';
import type { LiveSession } from '../../agents/adapter.ts';
import type { Listening } from '../../core/run/messages.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import type { RunState } from '../../core/run/state.ts';

/** What the input of an agent is made of. */
export interface LiveInputFacts {
  session: LiveSession;
  prompt: string;
  /** The ids of the messages that the prompt has. */
  shown: readonly string[];
  /** The id of the story. */
  story: string;
  /** The states of the run, in which messages appear; undefined: there are no others. */
  source?: { readState(): Promise<RunState>; followState(signal: AbortSignal): AsyncIterable<RunState> } | undefined;
  /** Where messages are recorded, and replayed from. */
  cassette?: Pick<Gateway, 'recordMessage' | 'replayMessages'> | undefined;
  /** The agent takes messages from now on, and reads them then; calls follow each other. */
  onListens(when: Listening): Promise<void>;
  /** Messages with these ids are now part of the conversation with the model. */
  onTaken(ids: readonly string[]): Promise<void>;
}

/** The input of one process of an agent: its prompt, and messages while it works. */
export interface LiveInput {
  /** Ends when the agent has nothing left to do. */
  readonly stdin: Readable;
  /** Reads the next output, in whole lines of UTF-8. */
  hear(lines: readonly Buffer[]): void;
  /** Ends the input. Resolves when all calls of `onListens` and `onTaken` have; rejects if one failed. Safe to repeat. */
  close(): Promise<void>;
}

export type OpenLiveInput = (facts: LiveInputFacts) => LiveInput;
