import { z } from 'zod';
import { key } from '../../../config/schema/key-metadata.ts';
import {
  Commands,
  Duration,
  GlobList,
  oneOf,
  sizeOfAtLeast,
  Text,
  Variables,
  wholeNumber,
} from '../../../config/schema/values.ts';
import { serviceRight } from '../../../config/trust/key-trust.ts';
import { explainUnknownKey } from '../../../core/text/did-you-mean.ts';
import { findServiceFaults, IN_MEMORY, SERVICE_USERS } from '../core/service.ts';

const CPUS = 'must be a number from 0.1 to 1024';
const HostName = z
  .string({ error: 'must be a string' })
  .regex(
    /^[a-z0-9](?:[a-z0-9_.-]{0,61}[a-z0-9])?$/,
    'must be a name of small letters, digits, hyphens, underscores and dots',
  )
  .regex(/[a-z]/, 'must have a letter');

/** Folders that every container has for itself. */
const TAKEN = /^\/(?:$|(?:proc|sys|dev|etc|run|tmp|halo|opt\/halo|home\/agent)(?:\/|$)|var\/run(?:\/|$))/;

const Data = Text.refine(
  (text) => text === IN_MEMORY || (/^(?:\/[\w.-]+)+$/.test(text) && !/\/\.\.?(?:\/|$)/.test(text) && !TAKEN.test(text)),
  `must be an absolute path in the container, like "/var/lib/postgresql/data", or "${IN_MEMORY}"`,
);

const FIELDS = {
  image: Text.refine((name) => /^[\w][\w.:/@-]*$/.test(name), 'must be the name of an image'),
  command: z
    .array(Text, { error: 'must be a list of words, like ["postgres", "-c", "fsync=off"]' })
    .min(1, 'must not be empty')
    .optional(),
  env: Variables.optional(),
  ready: Text.optional(),
  ready_within: Duration.optional(),
  port: wholeNumber(1, 65_535).optional(),
  ports: z
    .array(wholeNumber(1, 65_535), { error: 'must be a list like [5432]' })
    .min(1, 'must not be empty')
    .optional(),
  memory: sizeOfAtLeast('32m').optional(),
  cpus: z.number({ error: CPUS }).min(0.1, CPUS).max(1024, CPUS).optional(),
  data: Data.optional(),
  prepare: Commands.min(1, 'must not be empty').optional(),
  prepare_files: GlobList.min(1, 'must not be empty').optional(),
  aliases: z
    .array(HostName, { error: 'must be a list of names, like ["database"]' })
    .max(20, 'must be at most 20 names')
    .optional(),
  for: z
    .array(oneOf(...SERVICE_USERS), { error: 'must be a list like ["gates"]' })
    .min(1, 'must not be empty')
    .optional(),
};

const Service = z.strictObject(FIELDS, { error: (issue) => explainUnknownKey(issue, Object.keys(FIELDS)) });

const MAX_SERVICES = 16;

/** `[services.<name>]`: containers with databases and the like beside agent and gates. */
export const ServicesTable = key(
  z
    .record(
      z.string().regex(/^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$/, 'is not a name of small letters, digits and hyphens'),
      Service,
      { error: 'must be a table like [services.db] with image' },
    )
    .superRefine((services, context) => {
      const names = Object.keys(services);
      if (names.length > MAX_SERVICES)
        context.addIssue({ code: 'custom', message: `must be at most ${MAX_SERVICES} services` });
      for (const { path, message } of findServiceFaults(services)) context.addIssue({ code: 'custom', message, path });
    }),
  [
    'table of tables',
    {},
    '[Services](services.md) beside agent and gates, such as a database: one `[services.db]` each, with `image` and other keys.',
  ],
  serviceRight(),
);
