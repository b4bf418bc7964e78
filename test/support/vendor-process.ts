/** The fake vendor in a process of its own, so that nothing of it counts as ours. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startChild } from '../../scripts/children.mjs'
import type { Fault } from '../../src/fake-vendor/fault.js'
import type { FaultTarget } from '../../src/fake-vendor/request-target.js'

const main = join(import.meta.dirname, '../../dist/main.js')

export interface VendorProcess {
  readonly url: string
  readonly loginId: string
  setFaults(faults: Readonly<Partial<Record<FaultTarget, Fault | null>>>): Promise<void>
  end(): Promise<void>
}

/** Options as on the command line. */
export async function vendorProcess(...options: readonly string[]): Promise<VendorProcess> {
  const loginId = 'key-of-a-test'
  const args = [main, 'fake-vendor', '--port', '0', '--login-id', loginId, ...options]
  const child = startChild(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await addressOf(child)
  return {
    url,
    loginId,
    async setFaults(faults) {
      const body = JSON.stringify(faults)
      const answer = await fetch(`${url}/fake-vendor/faults`, {
        method: 'PUT',
        body,
        headers: { connection: 'close' },
      })
      if (!answer.ok) throw new Error(await answer.text())
      await answer.arrayBuffer()
    },
    async end() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

function addressOf(child: ChildProcess): Promise<string> {
  let output = ''
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (bytes: Buffer) => {
      output += bytes.toString()
      const url = /listens on (http:\/\/[^;]+);/.exec(output)?.[1]
      if (url !== undefined) resolve(url)
    })
    child.once('exit', (code) => reject(new Error(`fake-vendor ended with ${code}:\n${output}`)))
  })
}
