/** Takes the results of scans that servers post, and tells which scan was done twice. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

export type ScanReceiver = Awaited<ReturnType<typeof openScanReceiver>>

export async function openScanReceiver() {
  /** The ids of messages by job: a message that is sent again has the same. */
  const messages = new Map<string, Set<string>>()
  const server = createServer(async (request, response) => {
    try {
      const { JobId } = (await json(request)) as { JobId: string }
      const id = String(request.headers['webhook-id'])
      messages.set(JobId, (messages.get(JobId) ?? new Set()).add(id))
      response.end()
    } catch {
      // Its sender was killed in the middle.
      response.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    has: (jobId: string) => messages.has(jobId),
    findDoneTwice: () => [...messages].find(([, ids]) => ids.size > 1)?.[0],
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
