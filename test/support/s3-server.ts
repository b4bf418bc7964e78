/** Storage with the API of Amazon S3, for one bucket. Refuses a request whose signature is not that of its access key. */
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface S3Server {
  /** With bucket and prefix. */
  readonly url: string
  /** By path. */
  readonly objects: Map<string, Buffer>
  /** Method and status, with the range of a part, in the order of the answers. */
  readonly log: string[]
  /** Awaited before a request is answered. */
  hold: (method: string, range: string) => Promise<void>
  close(): void
}

export const s3Keys = { accessKeyId: 'AKIDTEST', secretAccessKey: 'secret/of+the=test' }

export async function startS3Server(): Promise<S3Server> {
  const objects = new Map<string, Buffer>()
  const log: string[] = []
  const server = createServer((request, response) => void answer(request, response))
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      // Its client gave up before it had sent all of it.
      return
    }
    const { method = '', url = '', headers } = request
    const range = headers.range ?? ''
    const isChunked = headers['transfer-encoding'] !== undefined
    await s3.hold(method, range)
    const end = (status: number, body: Buffer | string = '') => {
      log.push(`${method} ${status} ${range}`.trim())
      response.writeHead(status).end(body)
    }
    if (!isSigned(request)) return end(403, '<Error><Code>SignatureDoesNotMatch</Code></Error>')
    if (isChunked) return end(411, '<Error><Code>MissingContentLength</Code></Error>')
    if (method === 'PUT') {
      objects.set(url, Buffer.concat(chunks))
      return end(200)
    }
    const object = objects.get(url)
    if (method === 'DELETE') {
      objects.delete(url)
      return end(204)
    }
    if (!object) return end(404, '<Error><Code>NoSuchKey</Code></Error>')
    const [, from, last] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? []
    if (from === undefined) return end(200, object)
    return end(206, object.subarray(Number(from), Number(last) + 1))
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const s3: S3Server = {
    url: `http://127.0.0.1:${port}/bucket/lists`,
    objects,
    log,
    hold: async () => undefined,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
  return s3
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** Signature Version 4, as in "Authenticating Requests (AWS Signature Version 4)" of the S3 API reference. */
function isSigned({ method, url = '', headers }: IncomingMessage): boolean {
  const [, keyId, scope, names, signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\S+), SignedHeaders=(\S+), Signature=(\w+)$/.exec(
      headers.authorization ?? '',
    ) ?? []
  if (keyId !== s3Keys.accessKeyId || scope === undefined || names === undefined) return false
  const signed = names.split(';').map((name) => `${name}:${String(headers[name])}\n`)
  const [path, query = ''] = url.split('?')
  const payload = headers['x-amz-content-sha256']
  const request = [method, path, query, signed.join(''), names, payload].join('\n')
  const requestHash = createHash('sha256').update(request).digest('hex')
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, requestHash].join('\n')
  const [day = '', region = '', service = '', last = ''] = scope.split('/')
  const key = [region, service, last].reduce<Buffer>(
    (one, part) => hmac(one, part),
    hmac(`AWS4${s3Keys.secretAccessKey}`, day),
  )
  return hmac(key, text).toString('hex') === signature
}
