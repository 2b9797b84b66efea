import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { ModelApi } from '../../core/model-api.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import type { Allowance } from '../allowance.ts';
import type { ModelOperation } from './model-operations.ts';

/** Where the model's answers come from. */
export interface ModelRoute {
  /** `record`: live, and written to the cassette; `replay`: from the cassette alone. */
  mode: 'live' | 'record' | 'replay';
  /** The kind of provider. */
  api: ModelApi;
  /** Base URL of the provider, to which e.g. `/responses` is appended. */
  baseUrl: string;
  /** Never leaves the gateway but to the provider; undefined: none is sent. */
  key: string | undefined;
  /** What a request shows as its key: it belongs to one attempt and is worth nothing anywhere else. */
  token: string;
  /** Names of the models that may be asked for. */
  models: readonly string[];
  /** Path of the cassette: written in `record`, read in `replay`. */
  cassette: string;
  /** Whether the cassette keeps, and a replay repeats, when the pieces of an answer came. */
  timed?: boolean;
  /** Takes secrets out of what a cassette keeps; absent: it knows the key alone. */
  masker?: Masker;
  /** Decides what may be spent and when; absent: everything, at once. A replay costs nothing. */
  allowance?: Allowance;
}

/** A model request that was read whole, parsed, and made anew of what may pass. */
export interface ModelRequest {
  operation: ModelOperation;
  /** The path with its query, as it was asked for. */
  url: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** The name of the model that the body asks for. */
  model: string;
}

/** Answers model requests; `close` may be called once, after the last answer. */
export interface ModelHandler {
  answer(request: ModelRequest, res: ServerResponse): Promise<void>;
  close(): Promise<void>;
}
