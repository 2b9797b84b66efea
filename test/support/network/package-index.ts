import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { tempDir } from '../temp-dir.ts';

/** A package index like PyPI on loopback, as the simple API wants it. */
export interface PackageIndex {
  /** Ends with `/simple`. */
  url: string;
  close(): Promise<void>;
}

/** Serves packages and what they need, as the pip of this machine finds them with its own settings. */
export async function startPackageIndex(packages: readonly string[]): Promise<PackageIndex> {
  const folder = tempDir('packages');
  const pip = ['-m', 'pip', 'download', '--quiet', '--retries', '0', '--only-binary', ':all:', '--dest', folder];
  execFileSync('python3', [...pip, ...packages], { stdio: 'pipe' });
  const files = readdirSync(folder);
  const server = createServer(({ url = '' }, response) => {
    const name = basename(url);
    if (files.includes(name)) return void response.end(readFileSync(join(folder, name)));
    const links = files
      .filter((file) => projectOf(file) === name)
      .map((file) => `<a href="/files/${file}">${file}</a>`);
    response.writeHead(links.length === 0 ? 404 : 200, { 'content-type': 'text/html' }).end(links.join('\n'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The name of a project, as URLs have it, from that of a wheel. */
function projectOf(file: string): string {
  return (file.split('-')[0] ?? '').toLowerCase().replace(/[._]+/g, '-');
}
