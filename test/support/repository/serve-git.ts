import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runProgram } from '../process/run-program.ts';

export interface GitServer {
  /** The address of the repository, with this login where one is given. */
  url(login?: { user: string; password: string }): string;
  close(): void;
}

/** Serves the repository in a folder over HTTP on loopback, as git's own program does, to those who know the login. */
export async function serveGit(
  folder: string,
  { user, password, path = '/repo.git' }: { user: string; password: string; path?: string },
): Promise<GitServer> {
  runProgram('git', ['config', 'http.receivepack', 'true'], { cwd: folder });
  const bare = !existsSync(join(folder, '.git'));
  const wanted = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const server = createServer((req, res) => {
    if (req.headers.authorization !== wanted) {
      res.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    const { pathname, search } = new URL(req.url ?? '', 'http://git');
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: '1',
        REMOTE_USER: user,
        REQUEST_METHOD: req.method,
        PATH_INFO: pathname.replace(path, bare ? '' : '/.git'),
        QUERY_STRING: search.slice(1),
        CONTENT_TYPE: req.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: req.headers['content-encoding'] ?? '',
        ...(req.headers['content-length'] === undefined ? {} : { CONTENT_LENGTH: req.headers['content-length'] }),
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    req.pipe(backend.stdin);
    const chunks: Buffer[] = [];
    backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    backend.on('close', () => {
      const answer = Buffer.concat(chunks);
      const end = answer.indexOf('\r\n\r\n');
      const headers = answer.toString('latin1', 0, end).split('\r\n');
      for (const header of headers) {
        const [name = '', value = ''] = header.split(': ');
        if (name === 'Status') res.statusCode = Number(value.slice(0, 3));
        else res.setHeader(name, value);
      }
      res.end(answer.subarray(end + 4));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: (login) => {
      const given = login && `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`;
      return `http://${given ?? ''}${host}${path}`;
    },
    close: () => server.close(),
  };
}
