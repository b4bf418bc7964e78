/** A piece of the file of a list, for another server. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.js'
import { fields } from '../fields.js'

const listFileRequest = fields({
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower case hexadecimal digits'),
  from: z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .optional(),
})

export const listFileEndpoint = defineEndpoint({
  name: 'list-file',
  summary:
    'The bytes of a published number list from the offset `from` on, at most 4 MiB, for another server of the same ' +
    'PostgreSQL database, with a key of account main, or for an edge of an account that may use the list.',
  spec: 'the gate',
  method: 'GET',
  paths: ['/v1/list-files/:sha256'],
  accepts: ['query'],
  keyAlsoIn: [],
  rights: ['edge'],
  scopes: 'none',
  request: listFileRequest,
  response: z.custom<Buffer>(),
  replyTypes: ['application/octet-stream'],
  encode: (bytes) => ({ bytes, contentType: 'application/octet-stream' }),
  otherStatuses: {
    403: 'Not the key of an Administrator',
    404: 'This server does not have the file, or the account may not use the list',
  },
  errors: 'problem',
})
