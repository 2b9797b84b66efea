import { fastFolder } from './fast-folder.ts';

/** For a layer whose tests reach no engine: one that needs it belongs to another layer. */
export function hideEngine(): void {
  process.env.DOCKER_HOST = 'unix:///nonexistent/docker.sock';
  const folder = fastFolder();
  if (folder !== undefined) process.env.TMPDIR = folder;
}
