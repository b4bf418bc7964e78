/** A provider in front of a fake vendor that has any number of keys, and keeps which of them asked about which numbers. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FakeVendor } from '../../src/fake-vendor/fake-vendor.js'

interface ProviderRequest {
  readonly loginId: string
  readonly path: string
  readonly numbers: readonly string[]
}

export interface LoginProxy {
  readonly url: string
  /** Oldest first. */
  readonly requests: ProviderRequest[]
  /** Keys that it refuses. */
  readonly refused: Set<string>
  /** The numbers that were asked about with a key, each once. */
  numbersOf(loginId: string): readonly string[]
  close(): Promise<void>
}

/** `change` is applied to the body of each answer. */
export async function openLoginProxy(
  vendor: FakeVendor,
  change: (body: string) => string = (body) => body,
): Promise<LoginProxy> {
  const requests: ProviderRequest[] = []
  const refused = new Set<string>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const { method = 'GET', url = '/', headers } = request
    const loginId = String(headers.loginid)
    const numbers = decodeURIComponent(`${url} ${body}`).match(/\b\d{10}\b/g) ?? []
    requests.push({ loginId, path: url.split('?', 1)[0] ?? url, numbers })
    const reply = await fetch(`${vendor.url}${url}`, {
      method,
      headers: {
        loginId: refused.has(loginId) ? 'unknown' : vendor.loginId,
        'content-type': headers['content-type'] ?? 'application/json',
      },
      ...(body.length > 0 && { body }),
    })
    response.writeHead(reply.status, {
      'content-type': reply.headers.get('content-type') ?? 'application/json',
    })
    response.end(change(await reply.text()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    refused,
    numbersOf: (loginId) => [
      ...new Set(
        requests.flatMap((request) => (request.loginId === loginId ? request.numbers : [])),
      ),
    ],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
