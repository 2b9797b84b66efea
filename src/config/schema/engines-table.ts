import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { LOCAL_ENGINE } from '../../core/engine/engine-address.ts';
import { ANYONE, HOST_FILE } from '../trust/key-trust.ts';
import { key } from './key-metadata.ts';
import { Text, wholeNumber } from './values.ts';

const Label = z
  .string({ error: 'must be a string' })
  .regex(/^[a-zA-Z0-9][\w.-]{0,39}$/, 'must be a label of at most 40 letters, digits, dots, hyphens and underscores');
const Labels = z.array(Label, { error: 'must be a list like ["gpu"]' }).max(20, 'must be at most 20 labels');
const PemFile = Text.refine(isAbsolute, 'must be an absolute path').optional();
const TCP = /^tcp:\/\/(?:[\w.-]+|\[[0-9a-fA-F:]+\]):\d{1,5}$/;
const SOCKET = /^unix:\/\/\/[^\s?#]+$/;

const Engine = z
  .strictObject({
    name: z
      .string({ error: 'must be a string' })
      .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'must be a name of at most 40 small letters, digits and hyphens')
      .refine((name) => name !== LOCAL_ENGINE, `"${LOCAL_ENGINE}" is the engine that the environment names`),
    address: z
      .string({ error: 'must be a string' })
      .refine(
        (text) => TCP.test(text) || SOCKET.test(text),
        'must be like "tcp://build-2.example.com:2376", which is always TLS, or "unix:///path/docker.sock"',
      ),
    ca: PemFile,
    cert: PemFile,
    key: PemFile,
    fingerprint: z
      .string({ error: 'must be a string' })
      .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 of 64 small hex digits')
      .optional(),
    slots: wholeNumber(1, 1000).optional(),
    labels: Labels.optional(),
    repositories: z.array(Text, { error: 'must be a list like ["/srv/repos/*"]' }).optional(),
    users: z.array(Text, { error: 'must be a list like ["ada"]' }).optional(),
  })
  .superRefine(({ address, ca, cert, key: secret, fingerprint }, context) => {
    const fail = (name: string, message: string) => context.addIssue({ code: 'custom', message, path: [name] });
    const given = [ca, cert, secret].filter((file) => file !== undefined).length;
    if (SOCKET.test(address) && (given > 0 || fingerprint !== undefined))
      fail('address', 'is a socket of this machine, which has no ca, cert, key and fingerprint');
    else if (given > 0 && given < 3) fail('ca', 'must be given with cert and key, or none of the three');
  });

/** `[[engines]]`: further Docker engines, on this machine or on others. */
export const EnginesList = key(
  z
    .array(Engine, { error: 'must be tables like [[engines]] with name and address' })
    .max(200, 'must be at most 200 engines')
    .refine(
      (engines) => new Set(engines.map(({ name }) => name)).size === engines.length,
      'must not have two engines with the same name',
    ),
  [
    'list of tables',
    [],
    'Further [Docker engines](fleet.md#engines): one `[[engines]]` each, with `name` and `address`, and optionally `slots`, `labels`, `repositories`, `users`, `ca`, `cert`, `key` and `fingerprint`.',
  ],
  HOST_FILE,
);

/** `[engine]`: which engines a run asks for. */
export const EngineTable = z.strictObject({
  labels: key(
    Labels,
    ['list of strings', [], 'Labels that an [engine](fleet.md#engines) must have to run stories of this repository.'],
    ANYONE,
  ),
});
