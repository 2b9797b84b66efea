/** The requests of halo and of its tests to a container engine: only the fields that they use. */
/** The exit code of the engine where the machine lacks what it needs. Any other one is a fault of the engine. */
export const CANNOT_RUN = 3;

export interface CreateRequest {
  Image: string;
  Entrypoint?: string[] | null;
  Cmd?: string[] | null;
  User?: string;
  WorkingDir?: string;
  Env?: string[] | null;
  Labels?: Record<string, string> | null;
  NetworkDisabled?: boolean;
  HostConfig?: HostRequest;
}

export interface HostRequest {
  GroupAdd?: string[] | null;
  PidsLimit?: number | null;
  Memory?: number;
  NanoCpus?: number;
  ShmSize?: number;
  Ulimits?: { Name: string; Hard: number }[] | null;
  Tmpfs?: Record<string, string>;
  ExtraHosts?: string[] | null;
  Mounts?: MountRequest[] | null;
  Runtime?: string;
  ReadonlyRootfs?: boolean;
  AutoRemove?: boolean;
}

export interface MountRequest {
  Type: 'bind' | 'volume' | 'tmpfs';
  Source?: string;
  Target: string;
  ReadOnly?: boolean;
  VolumeOptions?: {
    NoCopy?: boolean;
    Labels?: Record<string, string>;
    DriverConfig?: { Options?: Record<string, string> };
  };
}

/** What an engine answers to a request that it does not carry out. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
