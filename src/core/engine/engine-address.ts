/** A Docker engine and how to reach it. */
export interface EngineAddress {
  /** Its name in config.toml, or LOCAL_ENGINE. */
  name: string;
  /** `tcp://host:port` or `unix:///path`; undefined: the engine that the environment names (DOCKER_HOST). */
  address?: string;
  /** Required by `tcp://`, unless the environment names the engine. */
  tls?: EngineTls;
}

/** What a client of an engine needs for mutual TLS; the first three are PEM texts. */
export interface EngineTls {
  /** The only certificate authorities that may have signed the engine's certificate. */
  ca: string;
  cert: string;
  key: string;
  /** SHA-256 of the engine's public key (DER, SubjectPublicKeyInfo) in hex; undefined: any key that `ca` certifies. */
  fingerprint?: string;
}

/** The name of the engine that the environment of a process names. No engine of config.toml has it. */
export const LOCAL_ENGINE = 'local';

/** The engine that the environment of a process names. */
export const localEngine: EngineAddress = { name: LOCAL_ENGINE };
