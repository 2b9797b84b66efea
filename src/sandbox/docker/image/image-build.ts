import type Docker from 'dockerode';
import { pack } from 'tar-fs';
import { HaloError } from '../../../core/failure/errors.ts';
import { toDockerError } from '../docker-errors.ts';

/** Label with the hash of the recipe that an image was built from. */
export const RECIPE_LABEL = 'dev.halo.recipe';

export interface ImageBuild {
  /** Folder with a Dockerfile; symbolic links are followed. */
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
    // The types of tar-fs declare a different kind of stream.
    const context = pack(build.context, { dereference: true }) as unknown as NodeJS.ReadableStream;
    const output = await docker.buildImage(context, {
      t: build.image,
      buildargs: build.args,
      labels: { ...build.labels, [RECIPE_LABEL]: build.recipe },
      nocache: build.force ?? false,
      forcerm: true,
      // Uses the host's network: the build needs no bridge, NAT or DNS of the engine.
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
    const ours = toDockerError(error, `build the image ${build.image}`);
    if (ours.code === 'DOCKER_UNAVAILABLE') throw ours;
    throw new HaloError('IMAGE_BUILD_FAILED', [ours.message, ...tail].join('\n  '), {
      hint: 'Read the end of the build output above. `halo image build --force` builds without cache.',
      cause: error,
    });
  }
}

/** Waits for the end of a build, pull or import. Throws errors reported in the stream. */
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
