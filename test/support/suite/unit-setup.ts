// Tests of this layer reach no engine: one that needs it belongs to another layer.
process.env.DOCKER_HOST = 'unix:///nonexistent/docker.sock';
