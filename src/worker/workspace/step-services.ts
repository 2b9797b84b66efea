import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import type { NetworkPhase } from '../../core/journal/egress-events.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import type { Mount, Sandbox, SandboxEngine, SandboxLabels, SandboxSpec } from '../../sandbox/sandbox.ts';
import type { ArtifactStore } from '../../store/artifact-store.ts';
import type { AttemptIdentity } from '../attempt/attempt-identity.ts';
import type { AttemptJournal } from '../attempt/attempt-journal.ts';
import type { Checkout } from './checkout-script.ts';

/** For whom services are started. */
export type ServiceUser = 'gates' | 'agent';

/** A port on the loopback interface of a sandbox that leads to a Unix socket in it. */
export interface Forward {
  port: number;
  socket: string;
}

/** What the sandbox of a command needs to reach its services. */
export interface ServiceAccess {
  mounts: readonly Mount[];
  forwards: readonly Forward[];
}

/** The services of one command: sealed containers that start with its sandbox, and end with the command. */
export interface StepServices {
  /** Throws IMAGE_MISSING, and what ends an attempt. */
  access(): Promise<ServiceAccess>;
  /** Resolves, and reports it, when all are ready. Ends the attempt if one does not get ready. */
  ready(phase: NetworkPhase): Promise<void>;
  /** Aborts when one has ended by itself and the command has to end as well. */
  readonly lost: AbortSignal;
  /** Those whose data this command had to prepare, and how long that took, in ms. */
  readonly prepared: readonly { service: string; ms: number }[];
  /** Removes them after the command, whose failure one of them may have caused: this ends the attempt then. */
  end(command: { failed: boolean }): Promise<void>;
}

/** A command with services. */
export interface ServedCommand {
  user: ServiceUser;
  /** Unique in its attempt. */
  name: string;
  /** What is in its workspace, once it is known. */
  checkedOut: Promise<Checkout>;
}

/** What services need of the context of their command, which it fulfils. */
export interface ServiceHost {
  readonly config: Config;
  readonly identity: Pick<AttemptIdentity, 'id' | 'location'>;
  readonly journal: AttemptJournal;
  readonly signal: AbortSignal;
  readonly resources: {
    /** Of its sandboxes; undefined: the default of the engine. */
    readonly runtime: string | undefined;
    labels(phase: string): SandboxLabels;
    volumeName(name: string): string;
    createVolume(name: string, user: number): Promise<void>;
    removeVolume(name: string): Promise<void>;
    createSocketVolume(name: string, user: number): Promise<void>;
    startSandbox(spec: SandboxSpec): Promise<Sandbox>;
  };
  readonly worker: {
    readonly engine: SandboxEngine;
    readonly engineName: string;
    readonly store: Pick<ArtifactStore, 'writeArtifact'>;
    readonly masker: Masker;
    readonly log: Logger;
    inBackground(cleaning: Promise<void>): void;
  };
}

/** Opens services; the configuration of a run decides which. */
export interface ServiceOpener {
  /** The names under which sandboxes of a run reach services. */
  names(config: Config): readonly string[];
  /** What a user of services can reach, for people: `db (postgres:16) at db:5432`. */
  addresses(config: Config, user: ServiceUser): readonly string[];
  /** The images that engines need for it. */
  images(config: Config): readonly string[];
  /** Starts the services of a command; undefined if it has none. */
  open(context: ServiceHost, command: ServedCommand): StepServices | undefined;
}

/** For a halo without services. */
export const NO_SERVICES: ServiceOpener = {
  names: () => [],
  addresses: () => [],
  images: () => [],
  open: () => undefined,
};
