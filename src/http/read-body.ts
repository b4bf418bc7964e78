/** Takes the bytes of a request's body, up to a limit. What they mean is read elsewhere. */
import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.js'

/**
 * The whole body. Throws `too-large` as soon as more than `maxBytes` are announced or sent; the
 * rest of such a body is discarded, so that the sender can still read the answer.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    const problem = `Content-Encoding '${encoding}' is not supported; send the body as it is`
    return Promise.reject(new AppError('unsupported-media-type', problem))
  }
  if (Number(request.headers['content-length']) > maxBytes) {
    request.resume()
    return Promise.reject(tooLarge(maxBytes))
  }
  return collect(request, maxBytes)
}

function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes) chunks.push(chunk)
      else {
        chunks.length = 0
        reject(tooLarge(maxBytes))
      }
    })
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', (cause) => reject(cutOff(cause)))
    request.once('close', () => reject(cutOff()))
  })
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('too-large', `The request body is larger than ${maxBytes} bytes`)
}

function cutOff(cause?: unknown): AppError {
  return new AppError('invalid-request', 'The request body was cut off', { cause })
}
