import type { Service } from './service.ts';

/** What decides the data that a service has after its `prepare`: equal parts give equal data. */
export interface DataParts {
  service: Pick<Service, 'command' | 'env' | 'prepare' | 'prepareFiles'>;
  /** Digests of what the images contain: of the service, and of the commands. */
  images: readonly [service: string, commands: string];
  architecture: string;
  /** Of the service. */
  user: number;
  /** The folder with the data. */
  folder: string;
  /** Of the commands. */
  setup: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Further settings that may change what setup and `prepare` make. */
  surroundings: unknown;
  /** Path, mode and blob id of each file that counts. */
  files: readonly (readonly [path: string, mode: string, id: string])[];
}

/** The text of which the key of a snapshot is the SHA-256; the order of variables and files does not matter. */
export function dataKeyText({ service, images, architecture, user, folder, files, ...others }: DataParts): string {
  const { setup, env, surroundings } = others;
  const { command, prepare, prepareFiles } = service;
  const own = [images, architecture, command ?? null, sorted(service.env), prepare, user, folder];
  return JSON.stringify(['service', 1, own, setup, sorted(env), surroundings, prepareFiles ?? null, byPath(files)]);
}

function sorted(variables: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1));
}

function byPath(files: DataParts['files']): DataParts['files'] {
  return [...files].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The folder whose content `prepare` decides, among those of a service; a clause if it is not known. */
export function dataFolder(
  { name, image, data }: Pick<Service, 'name' | 'image' | 'data'>,
  volumes: readonly string[],
): { folder: string } | { fault: string } {
  const [only, ...others] = data === undefined ? volumes : [data];
  if (only !== undefined && others.length === 0) return { folder: only };
  const has = only === undefined ? 'no VOLUME' : `the VOLUMEs ${volumes.join(', ')}`;
  return { fault: `services.${name}.prepare needs a folder with the data: the image ${image} has ${has}` };
}
