import * as z from 'zod';
import { ALL_OPERATIONS } from '../../../src/api/operations.ts';
import { buildOpenApi } from '../../../src/api/operations/openapi-document.ts';
import { pathKeys, type AnyOperation } from '../../../src/api/operations/operation.ts';
import { submitOptions } from '../../../src/api/operations/schemas.ts';

interface JsonSchema {
  type?: string;
  enum?: unknown[];
  const?: string | number | boolean;
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  default?: unknown;
  format?: string;
  description?: string;
}

interface Described {
  parameters?: { name: string; in: string; required: boolean; schema: JsonSchema }[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, { content?: Record<string, { schema?: JsonSchema }> }>;
}

const HEAD = `# HTTP API

[\`halo serve\`](commands.md#halo-serve) and [\`halo up\`](commands.md#halo-up) serve this API; commands use it when \`HALO_URL\` is set. \`GET /v1/openapi.json\` returns the same as an OpenAPI 3.1 document. This page is generated from the operations in \`src/api/operations/\`.

- **Token.** Every request needs the header \`Authorization: Bearer <token>\`: \`HALO_TOKEN\` of the server, or the content of \`<HALO_HOME>/api-token\`, which allow all requests, or the token of a [user](fleet.md#users), which allows [what their role includes](fleet.md#access).
- **Runs.** \`{runId}\` is the id of a run, or a unique part of it.
- **Errors.** The body is \`{code, message, hint?}\`; [codes](failures.md#codes). The status is 400 for \`USAGE\`, 401 for \`API_REFUSED\` (403 for a wrong host name or origin, where no token helps), 403 for \`ACCESS_DENIED\`, 429 for \`TOO_MANY_REQUESTS\`, 404 for a missing run, story, artifact or user, 409 if the state of the run does not allow the operation, 422 if the request cannot be fulfilled, 503 if something is missing on the server, and otherwise 500.
- **Streams.** One JSON object per line (\`application/x-ndjson\`). An error is the last line, as \`{"error": {code, message, hint?}}\`. Empty lines keep the connection alive. With \`Accept: text/event-stream\`, the same as server-sent events: \`Last-Event-ID\` continues after an event, an error has the type \`problem\`, and the last event has the type \`end\`.
- **Limits.** A body has at most 8 MiB and must arrive within 5 minutes. A user can have 250 open streams. [Teams](fleet.md#repositories-prds-and-settings-of-a-request) lists the limits of settings and repositories.

\`\`\`sh
export HALO_URL=http://127.0.0.1:7070 HALO_TOKEN=$(cat ~/.halo/api-token)
curl -H "Authorization: Bearer $HALO_TOKEN" $HALO_URL/v1/runs
\`\`\`
`;

/** The text of docs/api.md, formatted as Prettier formats it. */
export function writeApiReference(): string {
  const { paths } = buildOpenApi() as { paths: Record<string, Record<string, Described>> };
  const described = (operation: AnyOperation) =>
    paths[operation.path.replace('*}', '}')]![operation.method.toLowerCase()]!;
  const routes = ALL_OPERATIONS.map((operation) => {
    const { name, access } = operation;
    return [`[\`${routeOf(operation)}\`](#${name.toLowerCase()})`, access];
  });
  const table = formatTable([['request', 'access'], ...routes]);
  const sections = ALL_OPERATIONS.map((operation) => section(operation, described(operation)));
  const [submit] = ALL_OPERATIONS.filter(({ name }) => name === 'submit').map(described);
  const options = describeFields(bodyOf(submit!.requestBody)!, isSubmitOption);
  return [HEAD, table, ...sections, `## Options of a submit\n\n${options.join('\n')}\n`].join('\n');
}

function section(operation: AnyOperation, { parameters = [], requestBody, responses }: Described): string {
  const { name, summary, input } = operation;
  const body = bodyOf(requestBody);
  const query = parameters.filter((each) => each.in === 'query');
  const isSubmit = 'queueFolder' in (body?.properties ?? {});
  const fields =
    body === undefined
      ? query.map(describeParameter)
      : [
          ...describeFields(body, (key) => !isSubmit || !isSubmitOption(key)),
          ...(isSubmit ? ['- and the [options of a submit](#options-of-a-submit)'] : []),
        ];
  const [[status = '', response]] = Object.entries(responses) as [[string, Described['responses'][string]]];
  const [[mediaType = '', { schema = undefined } = {}] = []] = Object.entries(response.content ?? {});
  const notes = schema === undefined || mediaType !== 'application/json' ? [] : describeResponse(schema);
  return [
    `## ${name}\n`,
    `\`${routeOf(operation)}\`\n`,
    `${summary}\n`,
    ...(input === undefined || fields.length === 0
      ? []
      : [`${body === undefined ? 'Query' : 'Body'}:\n`, `${fields.join('\n')}\n`]),
    `Response: ${status === '200' ? '' : `${status}, `}\`${mediaType}\`${schema === undefined ? '' : `, \`${shapeOf(schema)}\``}\n`,
    ...(notes.length === 0 ? [] : [`${notes.join('\n')}\n`]),
    `\`\`\`sh\n${curlOf(operation)}\n\`\`\`\n`,
  ].join('\n');
}

function routeOf({ method, path }: AnyOperation): string {
  return `${method} ${path.replace('*}', '}')}`;
}

function bodyOf(requestBody: Described['requestBody']): JsonSchema | undefined {
  return requestBody?.content['application/json']?.schema;
}

function isSubmitOption(key: string): boolean {
  return key in submitOptions(z);
}

function describeFields(schema: JsonSchema, isShown: (key: string) => boolean = () => true): string[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties)
    .filter(([name]) => isShown(name))
    .map(([name, field]) => describeField(name, field, required.includes(name)));
}

/** The fields of a response that have a description, each once, at any depth. */
function describeResponse({ properties = {}, items, anyOf = [] }: JsonSchema): string[] {
  const notes = Object.entries(properties).flatMap(([name, field]) => [
    ...(field.description === undefined ? [] : [`- \`${name}\`: ${field.description}`]),
    ...describeResponse(field),
  ]);
  return [...new Set([...notes, ...[...anyOf, ...(items === undefined ? [] : [items])].flatMap(describeResponse)])];
}

function describeParameter({
  name,
  required,
  schema,
}: {
  name: string;
  required: boolean;
  schema: JsonSchema;
}): string {
  return describeField(name, schema, required);
}

function describeField(name: string, schema: JsonSchema, required: boolean): string {
  const { description, default: preset } = schema;
  const notes = [
    shapeOf(schema) === '' ? undefined : `\`${shapeOf(schema)}\``,
    required
      ? 'required'
      : preset === undefined
        ? undefined
        : `default \`${typeof preset === 'string' ? preset : JSON.stringify(preset)}\``,
  ].filter((note) => note !== undefined);
  return `- \`${name}\` (${notes.join(', ')})${description === undefined ? '' : `: ${description}`}`;
}

/** The shape of a value, e.g. `{runId, changed, owner?}`; that of its parts only where they are small. */
function shapeOf(schema: JsonSchema, depth = 0): string {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map((each) => shapeOf(each, depth)))].join(' or ');
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(String).join(' or ');
  if (schema.items !== undefined) return `[${shapeOf(schema.items, depth + 1)}]`;
  if (schema.properties === undefined) return schema.format ?? schema.type ?? '';
  const { properties, required = [] } = schema;
  if (depth > 0 && Object.keys(properties).length > 10) return '{…}';
  const fields = Object.entries(properties).map(([name, field]) => {
    const nested = field.properties !== undefined || field.items?.properties !== undefined;
    const inner = depth < 2 && nested ? `: ${shapeOf(field, depth + 1)}` : '';
    return `${name}${required.includes(name) ? '' : '?'}${inner}`;
  });
  return `{${fields.join(', ')}}`;
}

function curlOf(operation: AnyOperation): string {
  const { method, example = {} } = operation;
  const values: Record<string, string> = { runId: '0tbq5vk3m1x2a9c', path: 'us-001-0c1f2a3b/1/gates/1.log' };
  const path = pathKeys(operation).reduce(
    (text, key) => text.replace(new RegExp(`\\{${key}\\*?\\}`), values[key] ?? key),
    operation.path,
  );
  const query = Object.entries(example).map(([key, value]) => `${key}=${String(value)}`);
  const url = method === 'GET' && query.length > 0 ? `"$HALO_URL${path}?${query.join('&')}"` : `$HALO_URL${path}`;
  const auth = '-H "Authorization: Bearer $HALO_TOKEN"';
  if (method === 'GET') return `curl ${auth} ${url}`;
  if (operation.input === undefined) return `curl -X POST ${auth} ${url}`;
  return `curl ${auth} -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(example)}' ${url}`;
}

export function formatTable(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const [head, ...body] = rows;
  return [line(head!), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body.map(line), ''].join('\n');
}
