/** Where things are inside a sandbox. */
export const WORKSPACE = '/workspace';
export const GATEWAY_DIR = '/run/halo';
export const GATEWAY_SOCKET = `${GATEWAY_DIR}/gateway.sock`;
export const MIRROR = '/halo/repo/mirror.git';
export const AGENT_HOME = '/home/agent';

/** Ports on the loopback interface of a sandbox, forwarded to its gateway. */
export const MODEL_PORT = 4000;
export const EGRESS_PORT = 4080;

/** The candidate of an attempt, at the same place relative to the mirror as on the host: alternates are relative. */
export function candidateIn(attemptId: string): string {
  return `/halo/repo/attempts/${attemptId}/candidate.git`;
}
