import { describe, expect } from 'vitest';
import { test } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';

/** Prints what it can reach and become, and serves then. */
const HOSTILE = `
import os, socket, subprocess
def attempt(what, work):
    try: print(what, work(), flush=True)
    except Exception as error: print(what, type(error).__name__, flush=True)
def connect(*address):
    socket.create_connection(address, 2).close()
    return 'connected'
def run(*words): return 'exit %d' % subprocess.run(words, capture_output=True).returncode
attempt('interfaces', lambda: ','.join(name for _, name in socket.if_nameindex()))
attempt('model', lambda: connect('127.0.0.1', 4000))
attempt('network', lambda: connect('192.0.2.1', 80))
attempt('names', lambda: socket.gethostbyname('example.com'))
attempt('gateway', lambda: os.listdir('/run/halo'))
attempt('others', lambda: sorted(os.listdir('/halo')))
attempt('repository', lambda: os.listdir('/workspace'))
attempt('engine', lambda: os.stat('/var/run/docker.sock'))
attempt('setuid programs', lambda: len(subprocess.run('find / -xdev -perm -4000 -type f'.split(), capture_output=True, text=True).stdout.split()) > 0)
attempt('mount', lambda: run('mount', '-t', 'tmpfs', 'tmpfs', '/mnt') != 'exit 0')
attempt('root', lambda: os.setuid(0))
attempt('rights', lambda: [line.split()[1] for line in open('/proc/self/status') if line.startswith(('CapBnd', 'NoNewPrivs'))])
attempt('write', lambda: open('/usr/evil', 'w'))
server = socket.create_server(('127.0.0.1', 7000))
while True: server.accept()
`;

describe('incident hostile-service: a service', () => {
  test('reaches nothing but its ports and its data, and gets no rights', async ({ halo, repository }) => {
    const service = { image: 'halo-sandbox', command: ['python3', '-c', HOSTILE], port: 7000 };
    const fields = Object.entries(service).map(([field, value]) => `${field} = ${JSON.stringify(value)}`);
    const state = await halo.run(
      repository.root,
      [{ id: 'A' }],
      scripted(`date > now.txt; ${OK}`, ['true'], [`services.evil={ ${fields.join(', ')} }`]),
    );
    const { key } = state.stories[0]!;
    const log = halo.readFile(state.runId, `artifacts/${key}/1/services/work-1-evil.log`);
    expect(log.trim().split('\n')).toEqual([
      'interfaces lo',
      'model ConnectionRefusedError',
      'network OSError',
      'names gaierror',
      'gateway FileNotFoundError',
      "others ['sockets']",
      'repository []',
      'engine FileNotFoundError',
      'setuid programs True',
      'mount True',
      'root PermissionError',
      "rights ['0000000000000000', '1']",
      'write OSError',
    ]);
  });
});
