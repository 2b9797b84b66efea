import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Docker from 'dockerode';
import { agentImage } from '../../../src/core/agent-program.ts';
import { tempDir } from '../temp-dir.ts';

/** Makes the image of a version of Codex, whose program is this script, as `halo agent update` would. Returns its name. */
export async function buildAgentVersion(version: string, script: string): Promise<string> {
  const context = tempDir('halo-version');
  const program = join(context, 'bin/codex');
  mkdirSync(dirname(program));
  writeFileSync(program, script, { mode: 0o755 });
  writeFileSync(join(context, 'Dockerfile'), 'FROM scratch\nCOPY bin /program/bin\n');
  const docker = new Docker();
  const image = agentImage('codex', version);
  const progress = await docker.buildImage(
    { context, src: ['Dockerfile', 'bin/codex'] },
    { t: image, networkmode: 'none' },
  );
  await new Promise<void>((resolve, reject) =>
    docker.modem.followProgress(progress, (error) => (error === null ? resolve() : reject(error))),
  );
  return image;
}
