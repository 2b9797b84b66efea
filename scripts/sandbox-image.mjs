// For scripts/setup.sh, which has no CLI to call yet while it makes the machine ready for it.
//   status   prints `<docker> <version> <image>`: docker is ok, none or denied; image is current, outdated or missing
//   build    builds the sandbox image when it is not current
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import Docker from 'dockerode';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
createRequire(import.meta.url)('./build.cjs').buildWhenStale(root);
const { buildSandboxImage, sandboxImageStatus } = await import('../dist/sandbox/docker/image.js');

const docker = new Docker();

async function status() {
  try {
    const { Version } = await docker.version();
    return `ok ${Version} ${await sandboxImageStatus(docker)}`;
  } catch (error) {
    return `${error.code === 'EACCES' ? 'denied' : 'none'} - missing`;
  }
}

async function build() {
  try {
    await buildSandboxImage({ docker, log: (line) => console.log(`  ${line.slice(0, 110)}`) });
  } catch (error) {
    console.error(`${error.message}\n  ${error.hint ?? ''}`);
    process.exitCode = 1;
  }
}

if (process.argv[2] === 'build') await build();
else console.log(await status());
