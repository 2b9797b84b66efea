// For scripts/setup.sh: prints `<docker> <version> <image>`, where docker is ok, none or denied, and the sandbox image is
// current, outdated or missing.
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import Docker from 'dockerode';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
createRequire(import.meta.url)('./build.cjs').buildWhenStale(root);
const { sandboxImageStatus } = await import('../dist/sandbox/image.cjs');

async function describe(docker) {
  try {
    const { Version } = await docker.version();
    return `ok ${Version} ${await sandboxImageStatus(docker)}`;
  } catch (error) {
    return `${error.code === 'EACCES' ? 'denied' : 'none'} - missing`;
  }
}

console.log(await describe(new Docker()));
