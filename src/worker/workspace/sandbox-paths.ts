/** The checked-out repository, inside a sandbox. */
export const WORKSPACE = '/workspace';
/** A snapshot, where a sandbox reads one. */
export const SNAPSHOT = '/halo/snapshot';
/** The session of an agent that lasts for a story. */
export const SESSION = '/halo/session';
/** The named pipe for the output of an agent. */
export const OUTPUT_PIPE = '/halo/output';
export const GATEWAY_DIR = '/run/halo';
export const GATEWAY_SOCKET = `${GATEWAY_DIR}/gateway.sock`;
/**
 * The repository with the attempt's base commit, and the candidate repository. They are next to each other, as on the
 * host, because their alternates are relative paths.
 */
export const VIEW = '/halo/repo/base.git';
export const CANDIDATE = '/halo/repo/candidate.git';

/** What the engine has of a repository, where more of it is stored. */
export const KNOWN = '/halo/known';

/** Ports on the loopback interface of a sandbox that are forwarded to its gateway. */
export const MODEL_PORT = 4000;
export const EGRESS_PORT = 4080;
