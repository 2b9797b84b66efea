// Set before the file is loaded. Where no light engine can run, the tests of this layer use Docker.
const light = process.env.HALO_TEST_LIGHT_ENGINE;
if (light !== undefined) process.env.DOCKER_HOST = light;
