import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type Docker from 'dockerode';

export interface SealedRun {
  image?: string;
  script: string;
  binds?: string[];
}

/** Runs one script in a container as sealed as sandboxes are, by plain engine calls. */
export async function runSealed(docker: Docker, run: SealedRun): Promise<{ code: number; out: string; err: string }> {
  const container = await docker.createContainer({
    Image: run.image ?? 'halo-sandbox',
    Cmd: ['sh', '-c', run.script],
    User: '23456:23456',
    Env: ['HOME=/home/agent'],
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges:true'],
      Init: true,
      Tmpfs: { '/tmp': 'exec,mode=1777', '/home/agent': 'exec,mode=0700,uid=23456,gid=23456' },
      Mounts: [{ Type: 'volume', Source: '', Target: '/workspace' }],
      Binds: run.binds ?? [],
    },
  });
  try {
    const stream = await container.attach({ stream: true, stdout: true, stderr: true });
    const [out, err] = [new PassThrough(), new PassThrough()];
    docker.modem.demuxStream(stream, out, err);
    stream.on('end', () => (out.end(), err.end()));
    const texts = Promise.all([text(out), text(err)]);
    await container.start();
    const { StatusCode } = (await container.wait()) as { StatusCode: number };
    const [o, e] = await texts;
    return { code: StatusCode, out: o, err: e };
  } finally {
    await container.remove({ force: true, v: true });
  }
}
