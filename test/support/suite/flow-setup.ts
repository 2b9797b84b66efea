import { shareGitLauncher } from './git-launcher.ts';

// Set before the file is loaded. Where no light engine can run, the tests of this layer use Docker.
const { HALO_TEST_LIGHT_ENGINE: light, HALO_TEST_LIGHT_TMP: tmp } = process.env;
if (light !== undefined) process.env.DOCKER_HOST = light;
if (tmp !== undefined) process.env.TMPDIR = tmp;
shareGitLauncher();
