import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { ModelApi } from '../../core/agent.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import type { BudgetPort } from '../usage/budget-port.ts';
import type { ModelOperation } from './model-operations.ts';

/** The source of the model's responses. */
export interface ModelRoute {
  /** `record`: live, and written to the cassette; `replay`: from the cassette alone. */
  mode: 'live' | 'record' | 'replay';
  /** The kind of provider. */
  api: ModelApi;
  /** Base URL of the provider, to which e.g. `/responses` is appended. */
  baseUrl: string;
  /** The provider's secret keys, sent only to the provider; none is sent when there is none. The budget chooses one. */
  providerKeys: readonly string[];
  /** The gateway token that a request must present as its API key. It is valid for one attempt and only at this gateway. */
  gatewayToken: string;
  /** Names of the allowed models. */
  models: readonly string[];
  /** Path of the cassette: written in `record`, read in `replay`. */
  cassette: string;
  /** Whether the cassette stores the timing of streamed responses, and a replay repeats it. */
  timed?: boolean;
  /** Masks secrets in the cassette; when absent, only the key is masked. */
  masker?: Masker;
  /** The budget and rate limits of requests; unlimited when absent. A replay costs nothing. */
  budget?: BudgetPort;
}

/** A complete model request, parsed and reduced to its accepted fields. */
export interface ModelRequest {
  operation: ModelOperation;
  /** The requested path with its query. */
  url: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** The name of the requested model. */
  model: string;
}

/** Serves model requests. Call `close` once, after the last response. */
export interface ModelHandler {
  respond(request: ModelRequest, res: ServerResponse): Promise<void>;
  close(): Promise<void>;
}
