import * as z from 'zod';
import { ERRORS } from '../../core/failure/errors.ts';
import { haloVersion } from '../../lib/version.ts';
import { STREAM_TYPE } from '../http/wire-error.ts';
import { ALL_OPERATIONS } from '../operations.ts';
import { pathKeys, type AnyOperation, type Schema } from './operation.ts';

type Json = Record<string, unknown>;

/** Descriptions of the keys of paths. */
const PATH_KEYS: Record<string, string> = {
  runId: 'The id of a run, or a unique part of it.',
  path: 'A path from the list of artifacts; its slashes are not escaped.',
};

let document: Json | undefined;

/** The OpenAPI 3.1 document of all operations, which is the same object each time. */
export function buildOpenApi(): Json {
  return (document ??= describeAll());
}

function describeAll(): Json {
  const paths: Record<string, Json> = {};
  for (const operation of ALL_OPERATIONS) {
    const path = operation.path.replace('*}', '}');
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describeOperation(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'halo',
      version: haloVersion(),
      description: 'The HTTP API of halo. Every request needs the token of the server or of one of its users.',
    },
    security: [{ token: [] }],
    tags: [
      { name: 'read', description: 'Changes nothing. For every role.' },
      { name: 'submit', description: 'Creates runs. From the role submitter on.' },
      { name: 'control', description: 'Changes runs. Submitters: only their own.' },
      { name: 'operate', description: 'Accepts or discards work. From the role operator on.' },
      { name: 'administer', description: 'Changes the server and its users. For the role admin.' },
    ],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: toJsonSchema(describeError) },
    },
  };
}

const describeError: Schema = () =>
  z.object({ code: z.enum(Object.keys(ERRORS)), message: z.string(), hint: z.string().optional() });

function describeOperation(operation: AnyOperation): Json {
  const { name, method, access, summary, input, example } = operation;
  const fields = input === undefined ? undefined : toJsonSchema(input);
  const body = method === 'POST' && fields !== undefined;
  const parameters = [
    ...pathKeys(operation).map((key) => ({
      name: key,
      in: 'path',
      required: true,
      description: PATH_KEYS[key],
      schema: { type: 'string' },
    })),
    ...(method === 'GET' ? queryParameters(fields) : []),
  ];
  return {
    operationId: name,
    summary,
    tags: [access],
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: fields, ...(example && { example }) } },
      },
    }),
    responses: {
      ...describeResult(operation),
      default: {
        description: 'An error.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  };
}

function queryParameters(fields: Json | undefined): Json[] {
  const { properties = {}, required = [] } = (fields ?? {}) as { properties?: Json; required?: string[] };
  return Object.entries(properties).map(([key, schema]) => ({
    name: key,
    in: 'query',
    required: required.includes(key),
    schema,
  }));
}

function describeResult({ output }: AnyOperation): Json {
  switch (output.kind) {
    case 'json':
      return {
        [output.created === true ? '201' : '200']: {
          description: 'The result.',
          content: { 'application/json': { schema: toJsonSchema(output.schema) } },
        },
      };
    case 'stream':
      return {
        '200': {
          description:
            'One JSON object per line. An error is the last line, as `{error}`; empty lines have no meaning.',
          content: { [STREAM_TYPE]: { schema: toJsonSchema(output.schema) } },
        },
      };
    case 'bytes':
      return { '200': { description: 'The content.', content: { [output.mediaType]: {} } } };
  }
}

function toJsonSchema(schema: Schema): Json {
  const { $schema, ...json } = z.toJSONSchema(schema(z), { io: 'input' }) as Json;
  void $schema;
  return json;
}
