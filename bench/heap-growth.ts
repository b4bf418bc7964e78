/** Measures how much memory something keeps. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectRubbish = runInNewContext('gc') as () => void

/** Additional bytes in use after garbage collection: heap and array buffers. */
export async function heapGrowth<Made>(
  make: () => Made | Promise<Made>,
): Promise<{ readonly made: Made; readonly bytes: number }> {
  const before = await bytesInUse()
  const made = await make()
  return { made, bytes: (await bytesInUse()) - before }
}

/** Buffers of collected objects are only released in a later turn of the event loop. */
async function bytesInUse(): Promise<number> {
  for (let times = 0; times < 4; times += 1) {
    collectRubbish()
    await nextTurn()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
