import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Gives the data of an engine that has not started yet an image of the machine's engine: a copy of files, where loading would
 * take half a minute. False, and nothing is written, if the machine's engine does not keep its images in this way.
 */
export function copyImage(image: string, data: string): boolean {
  const inspect = (...what: string[]) =>
    JSON.parse(execFileSync('docker', [...what, '--format', '{{json .}}'], { encoding: 'utf8' })) as unknown;
  const { DockerRootDir: root, Driver: driver } = inspect('info') as { DockerRootDir: string; Driver: string };
  const { Id, RootFS } = inspect('image', 'inspect', image) as { Id: string; RootFS: { Layers: string[] } };
  const database = join('image', driver);
  const content = join(database, 'imagedb/content', pathOf(Id));
  const layers = chainIds(RootFS.Layers).map((id) => join(database, 'layerdb', pathOf(id)));
  if (driver !== 'overlay2' || ![content, ...layers].every((path) => existsSync(join(root, path)))) return false;
  const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8');
  const copied = layers.flatMap((layer) => {
    const folder = join('overlay2', read(layer, 'cache-id'));
    return [layer, folder, join('overlay2/l', read(folder, 'link'))];
  });
  for (const path of [content, ...copied]) {
    mkdirSync(dirname(join(data, path)), { recursive: true, mode: 0o710 });
    execFileSync('cp', ['-a', join(root, path), join(data, path)]);
  }
  const names = { Repositories: { [image]: { [`${image}:latest`]: Id } } };
  writeFileSync(join(data, database, 'repositories.json'), JSON.stringify(names), { mode: 0o600 });
  return true;
}

const pathOf = (digest: string) => digest.replace(':', '/');

/** What Docker calls layers together with those below. */
function chainIds([first = '', ...above]: string[]): string[] {
  const ids = [first];
  for (const layer of above) {
    const below = ids.at(-1)!;
    ids.push(`sha256:${createHash('sha256').update(`${below} ${layer}`).digest('hex')}`);
  }
  return ids;
}
