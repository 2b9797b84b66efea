import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface GitServer {
  /** `127.0.0.1:port`. */
  host: string;
  /** `METHOD path` and Authorization of each request. */
  asked: [request: string, authorization: string | undefined][];
  /** Redirects by path; set them before a request. */
  redirects: Record<string, string>;
  close(): Promise<void>;
}

/** The repositories below a folder, served by git itself to clients that send this header Authorization, for reading and writing. */
export async function startGitServer(folder: string, authorization: string): Promise<GitServer> {
  const asked: GitServer['asked'] = [];
  const redirects: GitServer['redirects'] = {};
  const server = createServer((req, res) => {
    asked.push([`${req.method} ${req.url}`, req.headers.authorization]);
    const location = redirects[req.url ?? ''];
    if (location !== undefined) return void res.writeHead(301, { location }).end();
    if (req.headers.authorization !== authorization)
      return void res.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    serveByGit(folder, req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    redirects,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function serveByGit(folder: string, req: IncomingMessage, res: ServerResponse): void {
  const { pathname, search } = new URL(req.url ?? '', 'http://git');
  const program = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: 'someone',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: req.method,
      CONTENT_TYPE: req.headers['content-type'],
      CONTENT_LENGTH: req.headers['content-length'],
      HTTP_CONTENT_ENCODING: req.headers['content-encoding'],
      GIT_PROTOCOL: String(req.headers['git-protocol'] ?? ''),
    },
  });
  req.pipe(program.stdin.on('error', () => {}));
  const parts: Buffer[] = [];
  program.stdout.on('data', (part: Buffer) => parts.push(part));
  program.on('close', () => {
    const all = Buffer.concat(parts);
    const end = all.indexOf('\r\n\r\n');
    const headers = all.subarray(0, end).toString().split('\r\n').map((line) => line.split(': ') as [string, string]); // prettier-ignore
    const status = headers.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? '200';
    res.writeHead(Number(status), Object.fromEntries(headers.filter(([name]) => name !== 'Status')));
    res.end(all.subarray(end + 4));
  });
}
