import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { arch } from 'node:process';
import type Docker from 'dockerode';
import { AGENT_PROGRAMS, agentImage, programOfImage, type ProgramId } from '../../../core/agent-program.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { engineStatus, toDockerError } from '../docker-client.ts';
import { ensureImage, type BuildOptions } from './ensure-image.ts';
import { programVolume } from '../disk/volumes.ts';
import { fetchPackage, hashOf, PROGRAM_DIR, VERSION_LABEL } from './image-recipe.ts';
import { askRegistry } from './npm-registry.ts';

/** The package of a program on npm. */
interface ProgramPackage {
  /** Name and version, for a type of processor as Node names it. */
  spec(version: string, processor: string): string;
  /** The package whose tag `latest` is the newest version. */
  newest(processor: string): string;
  /** What of it goes into the folder of the program: path in the archive, and where to. */
  copies: readonly (readonly [from: string, to: string])[];
}

/** As in docker/sandbox/Dockerfile. */
export const PROGRAM_PACKAGES: Readonly<Record<ProgramId, ProgramPackage>> = {
  codex: {
    spec: (version, processor) => `@openai/codex@${version}-linux-${processor}`,
    newest: () => '@openai/codex',
    copies: [['vendor/*', '']],
  },
  claude: {
    spec: (version, processor) => `@anthropic-ai/claude-code-linux-${processor}@${version}`,
    newest: (processor) => `@anthropic-ai/claude-code-linux-${processor}`,
    copies: [['claude', 'claude']],
  },
  opencode: {
    spec: (version, processor) => `opencode-linux-${processor}@${version}`,
    newest: (processor) => `opencode-linux-${processor}`,
    copies: [['bin/opencode', 'opencode']],
  },
  gemini: {
    spec: (version) => `@google/gemini-cli@${version}`,
    newest: () => '@google/gemini-cli',
    copies: [
      ['bundle', 'bundle'],
      ['package.json', 'package.json'],
    ],
  },
};

/** The newest version of a program, as the npm registry says. Throws IMAGE_BUILD_FAILED. */
export async function findNewestVersion(id: ProgramId): Promise<string> {
  const name = PROGRAM_PACKAGES[id].newest(arch);
  const found = await askRegistry(name, 'dist-tags.latest');
  if (found !== undefined) return found;
  throw new HaloError('IMAGE_BUILD_FAILED', `The npm registry has no package ${name}.`, {
    hint: 'Check the registry of this machine: `npm config get registry`.',
  });
}

/**
 * Makes the image of a version of a program unless it exists: its package of npm, with the checksum that the registry
 * states. The build itself has no network. Throws USAGE for a version that does not exist, IMAGE_BUILD_FAILED,
 * DOCKER_UNAVAILABLE.
 */
export async function installVersion(id: ProgramId, version: string, options: BuildOptions): Promise<void> {
  const spec = PROGRAM_PACKAGES[id].spec(version, arch);
  const integrity = await askRegistry(spec, 'dist.integrity');
  if (integrity === undefined) throw await noSuchVersion(id, version);
  const dockerfile = describeImage(id);
  const labels = { [`${VERSION_LABEL}.${id}`]: version };
  const fill = async (context: string, cacheDir: string): Promise<void> => {
    await writeFile(join(context, 'Dockerfile'), dockerfile);
    const archive = await fetchPackage({ file: 'program.tgz', spec, integrity }, cacheDir, options.log);
    await symlink(archive, join(context, 'program.tgz'));
  };
  const recipe = hashOf([dockerfile, spec, integrity]);
  await ensureImage({ image: agentImage(id, version), recipe, labels, fill }, options);
}

function describeImage(id: ProgramId): string {
  const copies = PROGRAM_PACKAGES[id].copies.map(
    ([from, to]) => `COPY --from=package /package/${from} ${PROGRAM_DIR}/${to}`,
  );
  return ['FROM scratch AS package', 'ADD program.tgz /', 'FROM scratch', ...copies, ''].join('\n');
}

async function noSuchVersion(id: ProgramId, version: string): Promise<HaloError> {
  const { title } = AGENT_PROGRAMS[id];
  const newest = await findNewestVersion(id);
  return new HaloError(
    'USAGE',
    `The npm registry has no version ${version} of ${title}; the newest one is ${newest}.`,
    {
      hint: `Run \`halo agent update ${id}\` for the newest version, or \`npm view ${PROGRAM_PACKAGES[id].newest(arch)} versions\` to list all.`,
    },
  );
}

/** A version of a program that an engine has beside the one in halo's image. */
export interface InstalledVersion {
  id: ProgramId;
  version: string;
  bytes: number;
}

/** Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
export async function listVersions(docker: Docker): Promise<InstalledVersion[]> {
  const filters = JSON.stringify({ reference: ['halo-agent-*'] });
  const images = await docker.listImages({ filters }).catch((error: unknown) => {
    throw toDockerError(error, 'list images');
  });
  return images.flatMap(({ RepoTags, Size }) =>
    (RepoTags ?? []).flatMap((name) => {
      const program = programOfImage(name);
      return program === undefined ? [] : [{ ...program, bytes: Size }];
    }),
  );
}

/**
 * Removes a version of a program, and the volume that sandboxes mount. Safe when it is gone. Returns false, and removes
 * nothing, if a sandbox uses it. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function removeVersion(docker: Docker, id: ProgramId, version: string): Promise<boolean> {
  const image = docker.getImage(agentImage(id, version));
  try {
    const { Id } = await image.inspect();
    await docker.getVolume(programVolume(Id)).remove().catch(unlessMissing);
    await image.remove().catch(unlessMissing);
    return true;
  } catch (error) {
    const status = engineStatus(error);
    if (status === 404) return true;
    if (status === 409) return false;
    throw toDockerError(error, `remove ${agentImage(id, version)}`);
  }
}

function unlessMissing(error: unknown): void {
  if (engineStatus(error) !== 404) throw error;
}
