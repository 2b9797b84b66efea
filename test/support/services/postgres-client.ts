/**
 * `python3 sql.py STATEMENT...` in plain Python: prints the first column of what each statement returns, and with `--time` how
 * many ms each took. For a server at localhost:5432 that trusts the user postgres.
 */
export const POSTGRES_CLIENT = `import socket, struct, sys, time

class Server:
    def __init__(self):
        self.connection = socket.create_connection(('localhost', 5432))
        self.send(b'', struct.pack('!i', 196608) + b'user\\0postgres\\0database\\0postgres\\0\\0')
        self.answer()

    def send(self, kind, body):
        self.connection.sendall(kind + struct.pack('!i', len(body) + 4) + body)

    def read(self, size):
        data = b''
        while len(data) < size:
            piece = self.connection.recv(size - len(data))
            if not piece: sys.exit('the server closed the connection')
            data += piece
        return data

    def answer(self):
        rows = []
        while True:
            kind, size = struct.unpack('!ci', self.read(5))
            body = self.read(size - 4)
            if kind == b'E': sys.exit(body.replace(b'\\0', b' ').decode())
            if kind == b'D':
                length = struct.unpack('!i', body[2:6])[0]
                rows.append('' if length < 0 else body[6:6 + length].decode())
            if kind == b'Z': return rows

    def ask(self, statement):
        self.send(b'Q', statement.encode() + b'\\0')
        return self.answer()

server = Server()
timed = '--time' in sys.argv
for statement in sys.argv[1:]:
    if statement == '--time': continue
    begun = time.monotonic()
    for row in server.ask(statement): print(row)
    if timed: print('ms %d' % ((time.monotonic() - begun) * 1000), flush=True)
`;

/** The settings of a service with a PostgreSQL server for it. */
export function postgresService(image: string, more: Record<string, unknown> = {}): string {
  const fields = { image, for: ['gates'], ...more };
  const inline = Object.entries(fields).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return `services.db={ ${inline.join(', ')}, env = { POSTGRES_HOST_AUTH_METHOD = "trust" } }`;
}
