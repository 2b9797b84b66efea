import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { buildSync } from 'esbuild';
import type { SandboxSpec } from '../../../src/sandbox/sandbox.ts';
import { tempDir } from '../../support/temp-dir.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** A process that has started sandboxes. */
export interface EngineProcess {
  /** Of its sandboxes. */
  ids: string[];
  /** Resolves when it is dead. */
  kill(): Promise<void>;
}

/** Starts sandboxes and runs a command in each, which prints something, in a process of its own. */
export async function startProcess(sandboxes: { spec: SandboxSpec; script: string }[]): Promise<EngineProcess> {
  const dir = tempDir('halo-engine-process');
  const program = join(dir, 'program.mjs');
  writeFileSync(
    program,
    `import { once } from 'node:events';
     import { PassThrough } from 'node:stream';
     import { openDockerEngine } from ${JSON.stringify(bundleEngine(dir))};
     const engine = openDockerEngine();
     const limits = { wallMs: 600_000, idleMs: 600_000, outputBytes: 1e9 };
     const ids = await Promise.all(${JSON.stringify(sandboxes)}.map(async ({ spec, script }) => {
       const sandbox = await engine.start(spec);
       const [stdout, stderr] = [new PassThrough(), new PassThrough().resume()];
       void sandbox.run({ script, stdout, stderr, ...limits });
       await once(stdout, 'data');
       return sandbox.id;
     }));
     console.log(JSON.stringify(ids));`,
  );
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const printed = once(createInterface(child.stdout), 'line');
  const [line] = (await Promise.race([printed, ended])) as [unknown];
  return {
    ids: JSON.parse(String(line)) as string[],
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** As deep in its folder as the module is in src/, so that it finds the files of the repository. */
function bundleEngine(dir: string): string {
  const outfile = join(dir, 'dist', 'engine', 'engine.mjs');
  for (const name of ['docker', 'node_modules', 'package.json']) symlinkSync(join(ROOT, name), join(dir, name));
  mkdirSync(join(dir, 'dist'));
  buildSync({
    entryPoints: [join(ROOT, 'src/sandbox/docker/engine.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
  });
  return outfile;
}
