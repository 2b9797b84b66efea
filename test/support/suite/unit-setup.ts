import { fastFolder } from './fast-folder.ts';

// Tests of this layer reach no engine: one that needs it belongs to another layer.
process.env.DOCKER_HOST = 'unix:///nonexistent/docker.sock';

const folder = fastFolder();
if (folder !== undefined) process.env.TMPDIR = folder;
