/** The process in which {@link runDataProbes} runs the probes. Its first message is a {@link ProbeRequest}. */
import { nodeRuntime } from '../../runtime/runtime.js'
import { listDataProbes } from './data-findings.js'
import type { ProbeMessage, ProbeRequest } from './run-probes.js'

const send = (message: ProbeMessage) => process.send?.(message)

process.once('message', async ({ settings, temporaryFolder }: ProbeRequest) => {
  const deps = { clock: nodeRuntime.clock, temporaryFolder }
  for (const { subject, place, run } of listDataProbes(settings, deps)) {
    send({ subject, place })
    send(await run())
  }
})
