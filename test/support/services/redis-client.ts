/** `python3 sql.py COMMAND...` for a Redis server. */
export const REDIS_CLIENT = `import socket, sys
connection = socket.create_connection(('127.0.0.1', 6379))
for command in sys.argv[1:]:
    connection.sendall(command.encode() + b'\\r\\n')
    print(connection.recv(1000).decode().strip().lstrip(':+'))
`;
