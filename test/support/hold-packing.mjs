/** Preloaded into a server: packing a bundle waits at its start while the file `HOLD_PACKING` exists. */
import { existsSync } from 'node:fs'
import { isMainThread, workerData } from 'node:worker_threads'

if (!isMainThread && workerData?.threadModule?.endsWith('/pack-thread.js')) {
  const sleeping = new Int32Array(new SharedArrayBuffer(4))
  while (existsSync(process.env.HOLD_PACKING)) Atomics.wait(sleeping, 0, 0, 20)
}
