/**
 * Announces files uploaded by SFTP: an extension to the spec that existing clients use. This server
 * accepts no such files.
 */
import { z } from 'zod'
import { AppError } from '../../errors.js'
import { defineEndpoint } from '../endpoint.js'
import { fields, optionalFlag } from '../fields.js'

export interface FtpUploadRequest {
  /** The names of the fields that are set; without any field, an unspecified upload is assumed. */
  readonly uploaded: readonly string[]
}

const flag = z.preprocess((value) => value || undefined, optionalFlag.optional())

const files = {
  upload: flag.describe('Numbers to scrub'),
  pdnc: flag.describe('Opt-outs'),
  ebr: flag.describe('Relationship and permission records'),
  sendDoc: flag.describe('Documents'),
}

const request = fields(files).transform((wire): FtpUploadRequest => {
  const flags = Object.entries(wire).filter(([, isUploaded]) => isUploaded !== undefined)
  if (flags.length === 0) return { uploaded: ['an upload'] }
  return { uploaded: flags.flatMap(([name, isUploaded]) => (isUploaded ? [name] : [])) }
})

export const ftpUploadComplete = defineEndpoint<FtpUploadRequest, { readonly done: true }>({
  name: 'ftp-upload-complete',
  summary: 'Extension: announces files uploaded by SFTP; refused unless all its flags are false.',
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
  otherStatuses: { 404: 'Files were uploaded, but this server accepts none' },
  errors: 'text',
  encode: () => ({ text: '' }),
})

/**
 * Throws `not-found` if files were uploaded, since acknowledging an upload that is never read would
 * lose opt-outs.
 */
export function refuseUploadedFiles({ uploaded }: FtpUploadRequest): { readonly done: true } {
  if (uploaded.length === 0) return { done: true }
  const advice = 'send numbers by scrub, opt-outs by pdnc, records by ebr'
  const files = `the files of ${uploaded.join(', ')} were not read`
  throw new AppError('not-found', `This server accepts no files by SFTP; ${files}; ${advice}`)
}
