/** The process in which {@link runDataProbes} runs the probes. It gets the settings as its first message. */
import type { Settings } from '../../config/settings.js'
import { nodeRuntime } from '../../runtime/runtime.js'
import { listDataProbes } from './data-findings.js'
import type { ProbeMessage } from './run-probes.js'

const send = (message: ProbeMessage) => process.send?.(message)

process.once('message', async (settings: Settings) => {
  for (const { subject, place, run } of listDataProbes(settings, nodeRuntime.clock)) {
    send({ subject, place })
    send(await run())
  }
})
