/** Reads `multipart/form-data` with plain fields. The one door to busboy. */
import { Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import { invalidRequest } from '../errors.js'

/** The parser does all of a chunk before it can be stopped, and parts can be very small. */
const chunkBytes = 16 * 1024

/**
 * Names and values in order. Throws an `invalid-request` refusal for a body that is not well
 * formed, holds a file, or has more than `mostFields` parts.
 */
export function parseMultipart(
  body: Buffer,
  contentType: string,
  mostFields: number,
): Promise<readonly (readonly [string, string])[]> {
  return new Promise((resolve, reject) => {
    const parser = openParser(body, contentType, mostFields)
    const chunks = Readable.from(chunksOf(body))
    const refuse = (field: string, rule: string) => {
      chunks.destroy()
      reject(invalidRequest([{ field, rule }]))
    }
    if (!parser) return refuse('', malformed)
    const found: (readonly [string, string])[] = []
    parser.on('field', (name: string | undefined, value: string, nameCut: boolean) => {
      if (name === undefined || nameCut) refuse('', 'a part of the body has no usable name')
      else found.push([name, value])
    })
    parser.on('file', (name, file) => {
      file.on('error', () => undefined).resume()
      refuse(name ?? '', 'is a file; fields must be plain text')
    })
    parser.on('partsLimit', () => refuse('', `the body holds more than ${mostFields} fields`))
    parser.on('error', () => refuse('', malformed))
    parser.on('finish', () => resolve(found))
    chunks.pipe(parser)
  })
}

const malformed = 'the body is not well-formed multipart/form-data'

/** `undefined` for a content type it cannot read, such as one without a boundary. */
function openParser(body: Buffer, contentType: string, mostFields: number) {
  const limits = { parts: mostFields, fieldSize: body.length + 1, headerSize: 4096 }
  try {
    return new Busboy({ headers: { 'content-type': contentType }, limits })
  } catch {
    return undefined
  }
}

function* chunksOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += chunkBytes) yield body.subarray(at, at + chunkBytes)
}
