/** Limits on the use of the gateway by one sandbox. Times are in ms, sizes in bytes. */
export interface GatewayLimits {
  connections: number;
  /** Concurrent model requests. */
  requests: number;
  /** Maximum time to receive the headers of a request, and the whole request. */
  headersMs: number;
  requestMs: number;
  /** Maximum time without a byte in either direction. */
  idleMs: number;
  bodyBytes: number;
  /** Total of all bodies that are being read. */
  allBodiesBytes: number;
  /** Maximum bytes through one tunnel, from the sandbox and to the sandbox. */
  tunnelUpBytes: number;
  tunnelDownBytes: number;
  /** Maximum bytes of one response of a registry or a plain HTTP server. */
  responseBytes: number;
  /** Maximum time until the client of a tunnel has sent its TLS ClientHello. */
  helloMs: number;
}

export const LIMITS: GatewayLimits = {
  connections: 256,
  requests: 32,
  headersMs: 30_000,
  requestMs: 120_000,
  // A model may think for minutes before its first byte.
  idleMs: 20 * 60_000,
  bodyBytes: 32 * 1024 * 1024,
  allBodiesBytes: 96 * 1024 * 1024,
  // Downloads send only a few KiB; a larger upload may be exfiltration.
  tunnelUpBytes: 64 * 1024 * 1024,
  tunnelDownBytes: 4 * 1024 * 1024 * 1024,
  responseBytes: 2 * 1024 * 1024 * 1024,
  helloMs: 30_000,
};

export const MAX_HEADER_BYTES = 16_384;
