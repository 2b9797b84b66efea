/** A server for tests: it keeps one text in `/workspace/value`, as `set TEXT` and `get` say; `stop` and `die` end it, well or not. */
const SERVER = `
import os, socketserver, sys
PATH = '/workspace/value'
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline().decode().strip()
        if line == 'stop': os._exit(0)
        if line == 'die': print('it was asked to', flush=True); os._exit(3)
        if line.startswith('set '): open(PATH, 'w').write(line[4:])
        self.wfile.write(((open(PATH).read() if os.path.exists(PATH) else 'nothing') + '\\n').encode())
socketserver.ThreadingTCPServer.allow_reuse_address = True
print('it starts', flush=True)
socketserver.ThreadingTCPServer(('127.0.0.1', 7000), Handler).serve_forever()
`;

/** The settings of a service that keeps a text, in halo's own image; `more` has further fields. */
export function keyValueService(more: Record<string, unknown> = {}, name = 'kv'): string[] {
  const fields = { image: 'halo-sandbox', command: ['python3', '-c', SERVER], port: 7000, data: '/workspace', ...more };
  const inline = Object.entries(fields).map(([field, value]) => `${field} = ${JSON.stringify(value)}`);
  return [`services.${name}={ ${inline.join(', ')} }`];
}

/** A shell command that sends a line to the service, and prints what it answers. */
export function ask(line: string, host = 'kv', port = 7000): string {
  return `bash -c 'exec 3<>/dev/tcp/${host}/${port} && echo ${line} >&3 && read -r answer <&3 && echo "$answer"'`;
}
