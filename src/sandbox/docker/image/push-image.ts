import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type Docker from 'dockerode';
import type { EngineAddress } from '../../../core/engine/engine-address.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { openDockerClient, toDockerError } from '../docker-client.ts';
import { inspectImage } from './image-lookup.ts';

export interface PushedImage {
  /** Digest of what it contains, the same on both engines. */
  content: string;
  /** Bytes sent; 0: the engine had the image. */
  bytes: number;
}

interface Push {
  image: string;
  to: EngineAddress;
  /** Called with the bytes that were sent so far, and the size of the image on this machine. */
  onProgress: (sentBytes: number, imageBytes: number) => void;
}

/** The engine unpacks an image before it answers. */
const LOAD_MS = 3_600_000;

/**
 * Sends an image of the engine that the environment names to another engine, and compares there what it contains. Throws
 * IMAGE_MISSING, DOCKER_UNAVAILABLE, DOCKER_FAILED, DISK_FAILED.
 */
export async function pushImage({ image, to, onProgress }: Push): Promise<PushedImage> {
  const [here, there] = [openDockerClient(), openDockerClient(to, { deadlineMs: LOAD_MS })];
  const { content } = await inspectImage(here, image);
  if ((await contentOn(there, image)) === content) return { content, bytes: 0 };
  const { Size } = await here.getImage(image).inspect();
  let bytes = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      onProgress(bytes, Size);
      done(null, chunk);
    },
  });
  try {
    const saved = await here.getImage(image).get();
    const [answer] = await Promise.all([there.loadImage(counted, { quiet: true }), pipeline(saved, counted)]);
    await readAnswer(there, answer);
  } catch (error) {
    throw toDockerError(error, `store the image ${image}`);
  }
  if ((await contentOn(there, image)) === content) return { content, bytes };
  throw new HaloError(
    'DOCKER_FAILED',
    `The engine ${to.name} has stored another image than ${image} of this machine.`,
    {
      hint: 'Check whether it has the same architecture, and whether another process builds or pulls the image there.',
    },
  );
}

async function contentOn(docker: Docker, image: string): Promise<string | undefined> {
  const found = await inspectImage(docker, image).catch((error: unknown) => {
    if (error instanceof HaloError && error.code === 'IMAGE_MISSING') return undefined;
    throw error;
  });
  return found?.content;
}

/** The engine reports an error in its answer. */
function readAnswer(docker: Docker, answer: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve, reject) => {
    docker.modem.followProgress(answer, (error: Error | null, lines: { error?: string }[] | null) => {
      const failed = lines?.find((line) => line.error !== undefined)?.error;
      if (error === null && failed === undefined) resolve();
      else reject(error ?? new Error(failed));
    });
  });
}
