/** Where things are inside a sandbox. */
export const WORKSPACE = '/workspace';
export const GATEWAY_DIR = '/run/halo';
export const GATEWAY_SOCKET = `${GATEWAY_DIR}/gateway.sock`;
/** What the commit that an attempt builds on reaches, and its candidate, side by side as on the host: alternates are relative. */
export const VIEW = '/halo/repo/base.git';
export const CANDIDATE = '/halo/repo/candidate.git';
export const AGENT_HOME = '/home/agent';

/** Ports on the loopback interface of a sandbox, forwarded to its gateway. */
export const MODEL_PORT = 4000;
export const EGRESS_PORT = 4080;
