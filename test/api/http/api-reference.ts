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

This page lists the requests of the API that [\`halo serve\`](commands.md#halo-serve) and [\`halo up\`](commands.md#halo-up) serve; commands use it when \`HALO_URL\` is set. \`GET /v1/openapi.json\` returns the same as an OpenAPI 3.1 document. Responses are JSON with status 200, unless noted. Fields that several requests have are explained [at the end](#shared-fields). The examples use these functions:

\`\`\`sh
export HALO_URL=http://127.0.0.1:7070 HALO_TOKEN=$(cat ~/.halo/api-token)
api() { curl -H "Authorization: Bearer $HALO_TOKEN" "$@"; }
post() { api -H 'Content-Type: application/json' -d "$@"; }
api $HALO_URL/v1/runs
\`\`\`

- **Token.** Every request needs the header \`Authorization: Bearer <token>\`. \`HALO_TOKEN\` of the server and the content of \`<HALO_HOME>/api-token\` allow all requests, the token of a [user](fleet.md#users) [what their role includes](fleet.md#access); that table links all requests. The right of a request is behind its route.
- **Runs.** \`{runId}\` is the id of a run, or a unique part of it.
- **Errors.** The body is \`{code, message, hint?}\`; [codes](failures.md#codes). The status is 400 for \`USAGE\`, 401 for \`API_REFUSED\` (403 for a wrong host name or origin), 403 for \`ACCESS_DENIED\`, 404 for a missing run, story, artifact or user, 409 if the state of the run does not allow it, 422 if it cannot be fulfilled, 429 for \`TOO_MANY_REQUESTS\`, 503 if the server lacks something, otherwise 500.
- **Streams.** One JSON object per line (\`application/x-ndjson\`). An error is the last line, as \`{"error": {code, message, hint?}}\`. Empty lines keep the connection alive. \`Accept: text/event-stream\` selects server-sent events: \`Last-Event-ID\` continues after an event, an error has the type \`problem\`, the last event the type \`end\`.
- **Limits.** A body has at most 8 MiB and must arrive within 5 minutes. A user can have 250 open streams. [Teams](fleet.md#repositories-prds-and-settings-of-a-request) lists the limits of settings and repositories.
`;

/** The text of docs/api.md, formatted as Prettier formats it. */
export function writeApiReference(): string {
  const { paths } = buildOpenApi() as { paths: Record<string, Record<string, Described>> };
  const described = (operation: AnyOperation) =>
    paths[operation.path.replace('*}', '}')]![operation.method.toLowerCase()]!;
  const shared = findShared(ALL_OPERATIONS.map(described));
  const sections = ALL_OPERATIONS.map((operation) => section(operation, described(operation), shared));
  const [submit] = ALL_OPERATIONS.filter(({ name }) => name === 'submit').map(described);
  const options = describeFields(bodyOf(submit!.requestBody)!, [], isSubmitOption);
  return [
    HEAD,
    ...sections,
    `## Options of a submit\n\n${options.join('\n')}\n`,
    `## Shared fields\n\n${[...shared].sort().join('\n')}\n`,
  ].join('\n');
}

/** The lines on fields that mean the same in several operations; the page has each of them once. */
function findShared(operations: Described[]): string[] {
  const all = operations.flatMap(({ parameters = [], requestBody, responses }) => {
    const asked = [bodyOf(requestBody)?.properties ?? {}, queryOf(parameters)].map((properties) => ({ properties }));
    const [response] = Object.values(responses);
    const answered = Object.values(response?.content ?? {}).map(({ schema = {} }) => schema);
    return [
      ...new Set(
        asked
          .flatMap(({ properties }) => Object.entries(properties))
          .filter(([name]) => !isSubmitOption(name))
          .flatMap(noteOn),
      ),
      ...new Set(answered.flatMap(describeResponse)),
    ];
  });
  const repeated = [...new Set(all)].filter((line) => all.indexOf(line) !== all.lastIndexOf(line));
  const names = repeated.map((line) => line.split(':')[0]);
  return repeated.filter((_, at) => names.indexOf(names[at]) === names.lastIndexOf(names[at]));
}

/** What its description says about a field; none without one. */
function noteOn([name, { description }]: [string, JsonSchema]): string[] {
  return description === undefined ? [] : [`- \`${name}\`: ${description}`];
}

function queryOf(parameters: NonNullable<Described['parameters']>): Record<string, JsonSchema> {
  return Object.fromEntries(parameters.filter((each) => each.in === 'query').map(({ name, schema }) => [name, schema]));
}

function section(
  operation: AnyOperation,
  { parameters = [], requestBody, responses }: Described,
  shared: string[],
): string {
  const { name, summary, input, access } = operation;
  const body = bodyOf(requestBody);
  const query = parameters.filter((each) => each.in === 'query');
  const isSubmit = 'queueFolder' in (body?.properties ?? {});
  const fields =
    body === undefined
      ? query.map((each) => describeParameter(each, shared))
      : [
          ...describeFields(body, shared, (key) => !isSubmit || !isSubmitOption(key)),
          ...(isSubmit ? ['- and the [options of a submit](#options-of-a-submit)'] : []),
        ];
  const [[status = '', response]] = Object.entries(responses) as [[string, Described['responses'][string]]];
  const [[mediaType = '', { schema = undefined } = {}] = []] = Object.entries(response.content ?? {});
  const notes = schema === undefined || mediaType !== 'application/json' ? [] : describeResponse(schema);
  const own = notes.filter((note) => !shared.includes(note));
  return [
    `## ${name}\n`,
    `\`${routeOf(operation)}\` (${access})\n`,
    `${summary}\n`,
    ...(input === undefined || fields.length === 0
      ? []
      : [`${body === undefined ? 'Query' : 'Body'}:\n`, `${fields.join('\n')}\n`]),
    `Response: ${describeAnswer(status, mediaType, schema)}\n`,
    ...(own.length === 0 ? [] : [`${own.join('\n')}\n`]),
    `\`\`\`sh\n${exampleOf(operation)}\n\`\`\`\n`,
  ].join('\n');
}

/** Status, media type and shape, without what is usual. */
function describeAnswer(status: string, mediaType: string, schema: JsonSchema | undefined): string {
  const parts = [
    ...(status === '200' ? [] : [status]),
    ...(mediaType === 'application/json' ? [] : [`\`${mediaType}\``]),
    ...(schema === undefined ? [] : [`\`${shapeOf(schema)}\``]),
  ];
  return parts.join(', ');
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

function describeFields(
  schema: JsonSchema,
  shared: string[],
  isShown: (key: string) => boolean = () => true,
): string[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties)
    .filter(([name]) => isShown(name))
    .map(([name, field]) => describeField([name, field], required.includes(name), shared));
}

/** The fields of a response that have a description, each once, at any depth. */
function describeResponse({ properties = {}, items, anyOf = [] }: JsonSchema): string[] {
  const notes = Object.entries(properties).flatMap(([name, field]) => [
    ...noteOn([name, field]),
    ...describeResponse(field),
  ]);
  return [...new Set([...notes, ...[...anyOf, ...(items === undefined ? [] : [items])].flatMap(describeResponse)])];
}

function describeParameter(
  { name, required, schema }: NonNullable<Described['parameters']>[number],
  shared: string[],
): string {
  return describeField([name, schema], required, shared);
}

/** With its description, unless it is among the shared ones. */
function describeField([name, schema]: [string, JsonSchema], required: boolean, shared: string[]): string {
  const { description, default: preset } = schema;
  const isShared = noteOn([name, schema]).some((note) => shared.includes(note));
  const notes = [
    shapeOf(schema) === '' ? undefined : `\`${shapeOf(schema)}\``,
    required
      ? 'required'
      : preset === undefined
        ? undefined
        : `default \`${typeof preset === 'string' ? preset : JSON.stringify(preset)}\``,
  ].filter((note) => note !== undefined);
  return `- \`${name}\` (${notes.join(', ')})${description === undefined || isShared ? '' : `: ${description}`}`;
}

/** The shape of a value, e.g. `{runId, changed, owner?}`; that of its parts only where they are small. */
function shapeOf(schema: JsonSchema, depth = 0): string {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map((each) => shapeOf(each, depth)))].join(' or ');
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum !== undefined) return schema.enum.length > 12 ? 'string' : schema.enum.map(String).join(' or ');
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

function exampleOf(operation: AnyOperation): string {
  const { method, example = {} } = operation;
  const values: Record<string, string> = { runId: '0tbq5vk3m1x2a9c', path: 'us-001-0c1f2a3b/1/gates/1.log' };
  const path = pathKeys(operation).reduce(
    (text, key) => text.replace(new RegExp(`\\{${key}\\*?\\}`), values[key] ?? key),
    operation.path,
  );
  const query = Object.entries(example).map(([key, value]) => `${key}=${String(value)}`);
  const url = method === 'GET' && query.length > 0 ? `"$HALO_URL${path}?${query.join('&')}"` : `$HALO_URL${path}`;
  if (method === 'GET') return `api ${url}`;
  if (operation.input === undefined) return `api -X POST ${url}`;
  return `post '${JSON.stringify(example)}' ${url}`;
}
