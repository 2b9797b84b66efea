import type Docker from 'dockerode';
import { pack } from 'tar-fs';
import { HaloError } from '../../../core/failure/errors.ts';
import { fromDocker } from '../docker-errors.ts';

/** Names the recipe that an image was made of. */
export const RECIPE_LABEL = 'dev.halo.recipe';

export interface ImageBuild {
  /** Folder with a Dockerfile; links in it are followed. */
  context: string;
  /** Name to give to the image. */
  image: string;
  recipe: string;
  labels: Record<string, string>;
  args: Record<string, string>;
  log: (line: string) => void;
  force?: boolean;
}

/** Builds and names an image. Throws IMAGE_BUILD_FAILED with the end of the output, DOCKER_UNAVAILABLE. */
export async function buildFromContext(docker: Docker, build: ImageBuild): Promise<void> {
  build.log(`building the image ${build.image}`);
  const tail: string[] = [];
  try {
    // Its types know less of a stream than it has.
    const context = pack(build.context, { dereference: true }) as unknown as NodeJS.ReadableStream;
    const output = await docker.buildImage(context, {
      t: build.image,
      buildargs: build.args,
      labels: { ...build.labels, [RECIPE_LABEL]: build.recipe },
      nocache: build.force ?? false,
      forcerm: true,
      // The host's own way out: no bridge, address translation or name server of the engine's is needed.
      networkmode: 'host',
    });
    await followProgress(docker, output, (text) => {
      for (const line of text.split('\n').filter((part) => part.trim() !== '')) {
        tail.splice(0, tail.length - 14);
        tail.push(line);
        if (line.startsWith('Step ')) build.log(line);
      }
    });
  } catch (error) {
    const ours = fromDocker(error, `build the image ${build.image}`);
    if (ours.code === 'DOCKER_UNAVAILABLE') throw ours;
    throw new HaloError('IMAGE_BUILD_FAILED', [ours.message, ...tail].join('\n  '), {
      hint: 'the lines above are the end of the build; `halo image build --force` starts again without any cache',
      cause: error,
    });
  }
}

/** Waits for the end of a build, pull or import; an error in its stream is thrown. */
export function followProgress(
  docker: Docker,
  output: NodeJS.ReadableStream,
  onText: (text: string) => void = () => undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: string | undefined;
    const onEvent = (event: { stream?: string; error?: string }): void => {
      failure ??= event.error;
      onText(event.stream ?? '');
    };
    const onEnd = (error: Error | null): void => {
      if (error) reject(error);
      else if (failure !== undefined) reject(new Error(failure));
      else resolve();
    };
    docker.modem.followProgress(output, onEnd, onEvent);
  });
}
