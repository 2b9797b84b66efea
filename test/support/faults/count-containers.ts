import type { Readable } from 'node:stream';
import Docker from 'dockerode';

export interface ContainerCount {
  /** How many the engine has made for the run. */
  soFar(): number;
  stop(): void;
}

/** Counts the containers of a run from now on, those that are gone again, too. */
export async function countContainers(runId: string): Promise<ContainerCount> {
  const filters = { type: ['container'], event: ['create'], label: [`dev.halo.run=${runId}`] };
  const events = (await new Docker().getEvents({ filters: JSON.stringify(filters) })) as Readable;
  let lines = 0;
  events.on('data', (piece: Buffer) => (lines += piece.toString().split('\n').length - 1));
  events.on('error', () => undefined);
  return { soFar: () => lines, stop: () => void events.destroy() };
}
