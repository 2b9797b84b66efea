/** How much of the gateway one sandbox can take up. Times are in ms, sizes in bytes. */
export interface GatewayLimits {
  connections: number;
  /** Model requests under way at once. */
  requests: number;
  /** Most time for the headers of a request, and for the whole of it. */
  headersMs: number;
  requestMs: number;
  /** Most time without a byte in either direction. */
  idleMs: number;
  bodyBytes: number;
  /** Of all bodies that are being read at once. */
  allBodiesBytes: number;
  /** Through one tunnel, from the sandbox and to it. */
  tunnelUpBytes: number;
  tunnelDownBytes: number;
  /** Of one answer of a registry or a plain HTTP server. */
  answerBytes: number;
  /** Most time until a tunnel says whether it is TLS, and for what server. */
  helloMs: number;
}

export const LIMITS: GatewayLimits = {
  connections: 256,
  requests: 32,
  headersMs: 30_000,
  requestMs: 120_000,
  // Models may think for minutes before their first byte.
  idleMs: 20 * 60_000,
  bodyBytes: 32 * 1024 * 1024,
  allBodiesBytes: 96 * 1024 * 1024,
  // Downloads need a few KiB upwards; more is somebody carrying things out.
  tunnelUpBytes: 64 * 1024 * 1024,
  tunnelDownBytes: 4 * 1024 * 1024 * 1024,
  answerBytes: 2 * 1024 * 1024 * 1024,
  helloMs: 30_000,
};

export const MAX_HEADER_BYTES = 16_384;
