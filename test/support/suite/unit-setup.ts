import { openGitLauncher } from '../../../src/git/process/git.ts';
import { fastFolder } from './fast-folder.ts';

// Tests of this layer reach no engine: one that needs it belongs to another layer.
process.env.DOCKER_HOST = 'unix:///nonexistent/docker.sock';

const folder = fastFolder();
if (folder !== undefined) process.env.TMPDIR = folder;

// As in a worker, halo's git commands are children of a small process, which this one shares between its files.
const shared = globalThis as { haloGitLauncher?: unknown };
shared.haloGitLauncher ??= openGitLauncher();
