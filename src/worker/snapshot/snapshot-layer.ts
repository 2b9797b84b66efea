/** The snapshot that the workspaces of an attempt begin with. */
export interface SnapshotLayer {
  /** The volume; nothing may write to it. */
  readonly volume: string;
  readonly mode: 'overlay' | 'copy';
  readonly key: string;
  readonly digest: string;
}

/** The attempt whose workspaces begin with a layer, so that setup does not run; without one, the attempt itself. */
export function onLayer<T extends { config: object }>(attempt: T, layer: SnapshotLayer | undefined): T {
  return layer === undefined ? attempt : { ...attempt, layer, config: { ...attempt.config, setup: [] } };
}
