import type { ServerResponse } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';

/** Where the model's answers come from. */
export interface ModelRoute {
  /** `record`: live, and written to the cassette; `replay`: from the cassette alone. */
  mode: 'live' | 'record' | 'replay';
  /** Base URL of the provider, to which `/responses` is appended. */
  baseUrl: string;
  /** Never leaves the gateway but to the provider; undefined: no Authorization header is sent. */
  key: string | undefined;
  /** Path of the cassette: written in `record`, read in `replay`. */
  cassette: string;
}

/** The one request that the model route serves. */
export const MODEL_METHOD = 'POST';
export const MODEL_PATH = '/v1/responses';

/** A model request that was read whole and parsed. */
export interface ModelRequest {
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** The name of the model that the body asks for; empty when it names none. */
  model: string;
}

/** Answers model requests; `close` may be called once, after the last answer. */
export interface ModelHandler {
  answer(request: ModelRequest, res: ServerResponse): Promise<void>;
  close(): Promise<void>;
}
