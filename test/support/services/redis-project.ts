/** A client of Redis in plain Python, because nothing can be installed from PyPI where the tests run. */
const CLIENT = `import os, socket, urllib.parse

def command(*words):
    """Sends one command to REDIS_URL, and returns the answer: a text, a number or None."""
    url = urllib.parse.urlparse(os.environ['REDIS_URL'])
    with socket.create_connection((url.hostname, url.port or 6379), 10) as connection:
        parts = [str(word).encode() for word in words]
        connection.sendall(b'*%d\\r\\n' % len(parts) + b''.join(b'$%d\\r\\n%s\\r\\n' % (len(part), part) for part in parts))
        stream = connection.makefile('rb')
        head = stream.readline().decode().strip()
        if head[0] == '$':
            return None if head == '$-1' else stream.read(int(head[1:])).decode()
        return int(head[1:]) if head[0] == ':' else head[1:]
`;

const TEST = `import unittest
from counter import command

class Counter(unittest.TestCase):
    def test_starts_empty(self):
        self.assertEqual(command('DBSIZE'), 0)
        self.assertEqual(command('INCR', 'visits'), 1)
        self.assertEqual(command('GET', 'visits'), '1')
`;

const WORKFLOW = `on: [push]
jobs:
  test:
    runs-on: ubuntu-latest
    services:
      redis:
        image: halo.test/redis:7
        ports: ["6379:6379"]
        options: --health-cmd "redis-cli ping" --health-interval 5s
    env:
      REDIS_URL: redis://localhost:\${{ job.services.redis.ports[6379] }}
    steps:
      - uses: actions/checkout@v4
      - run: python3 -m unittest
`;

/** A Python project whose test wants an empty Redis, as its workflow starts it. */
export const REDIS_PROJECT = {
  'counter.py': CLIENT,
  'test_counter.py': TEST,
  '.github/workflows/test.yml': WORKFLOW,
  '.gitignore': '__pycache__/\n',
};

/** What halo init leaves to the user, and the line instead. */
export const NO_GATES = '# gates = ["npm test"]';
export const GATES = 'gates = ["python3 -m unittest"]';
