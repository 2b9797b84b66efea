import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type Docker from 'dockerode';
import { ApiError, type CreateRequest } from './api.ts';

/** What a container takes from its image, unless the request has another value. */
type ImageConfig = Pick<CreateRequest, 'Env' | 'Cmd' | 'Entrypoint' | 'WorkingDir'>;

/** An image that containers can start from. */
export interface Image {
  id: string;
  /** Its layers, as overlayfs takes them. */
  layers: string;
  /** A folder that shows its files. */
  root: string;
  config: ImageConfig;
}

/** What an engine adds below the layer of each container, if the image lacks it, to mount files on. */
const PLACES = ['etc/hosts', 'etc/hostname', 'etc/resolv.conf', '.dockerenv'];

/** The images of the machine's Docker Engine, read-only, in place of images of its own. */
export class Images {
  private readonly docker: Docker;
  private readonly dir: string;
  private readonly known = new Map<string, Image>();

  constructor(docker: Docker, dir: string) {
    this.docker = docker;
    this.dir = dir;
  }

  /** As the engine describes it. */
  async inspect(name: string): Promise<Docker.ImageInspectInfo> {
    return this.docker
      .getImage(name)
      .inspect()
      .catch(() => {
        throw new ApiError(404, `No such image: ${name}`);
      });
  }

  async open(name: string): Promise<Image> {
    const facts = await this.inspect(name);
    const image = this.known.get(facts.Id) ?? this.mount(facts);
    this.known.set(facts.Id, image);
    return image;
  }

  close(): void {
    for (const { root } of this.known.values()) execFileSync('umount', ['--lazy', root]);
  }

  private mount({ Id, Config, GraphDriver: { Name, Data } }: Docker.ImageInspectInfo): Image {
    if (Name !== 'overlay2') throw new ApiError(501, `The layers of images are kept by ${Name}.`);
    const { UpperDir, LowerDir = '' } = Data as unknown as { UpperDir: string; LowerDir?: string };
    const own = [UpperDir, ...LowerDir.split(':').filter((layer) => layer !== '')];
    const dir = join(this.dir, Id.replace('sha256:', '').slice(0, 12));
    const [root, added] = [join(dir, 'root'), join(dir, 'added')];
    for (const folder of [root, added]) mkdirSync(folder, { recursive: true });
    for (const place of PLACES.filter((path) => !own.some((layer) => existsSync(join(layer, path))))) {
      mkdirSync(dirname(join(added, place)), { recursive: true });
      closeSync(openSync(join(added, place), 'w', 0o755));
    }
    const layers = [added, ...own].join(':');
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', `ro,lowerdir=${layers}`, root]);
    return { id: Id, layers, root, config: Config as ImageConfig };
  }
}
