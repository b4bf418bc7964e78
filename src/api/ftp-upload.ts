/**
 * Telling the server of files uploaded by SFTP, on the wire: an extension to the spec, since clients
 * in use call it. This server takes no such files.
 */
import { z } from 'zod'
import { AppError } from '../errors.js'
import { endpoint } from './endpoint.js'
import { fields, optionalFlag } from './fields.js'

export interface FtpUploadRequest {
  /** What was uploaded, by the names of the fields. */
  readonly uploaded: readonly string[]
}

const files = {
  upload: optionalFlag.describe('Numbers to scrub'),
  pdnc: optionalFlag.describe('Opt-outs'),
  ebr: optionalFlag.describe('Relationship and consent records'),
  sendDoc: optionalFlag.describe('Documents'),
}

const request = fields(files).transform(
  (wire): FtpUploadRequest => ({
    uploaded: Object.entries(wire).flatMap(([name, isUploaded]) => (isUploaded ? [name] : [])),
  }),
)

export const ftpUploadComplete = endpoint<FtpUploadRequest, { readonly done: true }>({
  name: 'ftp-upload-complete',
  summary: 'Extension: tells of files uploaded by SFTP; refused where there are any.',
  spec: 'Internal DNC list',
  method: 'GET',
  paths: ['/app/main/rpc/ftpUploadComplete'],
  accepts: ['query'],
  keyAlsoIn: ['query'],
  rights: [],
  scopes: 'none',
  request,
  response: z.object({ done: z.literal(true) }),
  replyTypes: ['text/plain'],
  outcomes: { 404: 'Files were uploaded, and this server takes none' },
  errors: 'text',
  encode: () => ({ text: '' }),
})

/**
 * A file that is acknowledged and not read would be opt-outs that nobody keeps. Throws `not-found`
 * where there are files.
 */
export function refuseFiles({ uploaded }: FtpUploadRequest): { readonly done: true } {
  if (uploaded.length === 0) return { done: true }
  const advice = 'send numbers by scrub, opt-outs by pdnc, records by ebr'
  const files = `the files of ${uploaded.join(', ')} were not read`
  throw new AppError('not-found', `This server takes no files by SFTP; ${files}; ${advice}`)
}
