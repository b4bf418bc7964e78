/** Reads `multipart/form-data` with plain fields. The only file that uses busboy. */
import { Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import { invalidRequest } from '../../errors.js'
import { decodeText } from '../../runtime/decode-text.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'

/** The parser processes a whole chunk before it can be stopped, and parts can be very small. */
const chunkBytes = 2 * 1024

/**
 * Names and values in order. Throws an `invalid-request` refusal for a body that is not well
 * formed, holds a file, unless files are to be read as text, or has more than `maxFields` parts.
 */
export function parseMultipart(
  body: Buffer,
  contentType: string,
  { maxFields, readsFiles = false }: MultipartOptions,
): Promise<readonly (readonly [string, string])[]> {
  return new Promise((resolve, reject) => {
    const parser = openParser(body, contentType, maxFields)
    const chunks = Readable.from(chunksOf(body))
    const refuse = (field: string, rule: string) => {
      chunks.destroy()
      reject(invalidRequest([{ field, rule }]))
    }
    if (!parser) return refuse('', malformedBodyRule)
    const found: (readonly [string, string])[] = []
    const collect = (name: string, file: Readable) => {
      const parts: Buffer[] = []
      file.on('data', (part: Buffer) => parts.push(part))
      file.on('end', () => found.push([name, decodeText(Buffer.concat(parts))]))
    }
    parser.on('field', (name: string | undefined, value: string, nameCut: boolean) => {
      if (name === undefined || nameCut) refuse('', 'a part of the body has no usable name')
      else found.push([name, value])
    })
    parser.on('file', (name, file) => {
      if (readsFiles && name !== undefined) return collect(name, file)
      file.on('error', () => undefined).resume()
      refuse(name ?? '', 'is a file; fields must be plain text')
    })
    parser.on('partsLimit', () => refuse('', `the body has more than ${maxFields} fields`))
    parser.on('error', () => refuse('', malformedBodyRule))
    parser.on('finish', () => resolve(found))
    chunks.pipe(parser)
  })
}

interface MultipartOptions {
  readonly maxFields: number
  readonly readsFiles?: boolean
}

/** Of the first part of a body: the parts that are complete in it, as a body of their own. */
export function extractCompleteParts(start: Buffer, contentType: string): Buffer {
  const boundary = /boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType)
  const delimiter = `\r\n--${boundary?.[1] ?? boundary?.[2] ?? ''}`
  const end = start.lastIndexOf(`${delimiter}\r\n`)
  if (end < 0) return Buffer.alloc(0)
  return Buffer.concat([start.subarray(0, end), Buffer.from(`${delimiter}--\r\n`)])
}

const malformedBodyRule = 'the body is not well-formed multipart/form-data'

/** `undefined` for a content type it cannot read, such as one without a boundary. */
function openParser(body: Buffer, contentType: string, maxFields: number) {
  const limits = {
    parts: maxFields,
    fieldSize: body.length + 1,
    fileSize: body.length + 1,
    headerSize: 4096,
  }
  try {
    return new Busboy({ headers: { 'content-type': contentType }, limits })
  } catch {
    return undefined
  }
}

async function* chunksOf(body: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += chunkBytes) {
    await yieldToEventLoop()
    yield body.subarray(at, at + chunkBytes)
  }
}
