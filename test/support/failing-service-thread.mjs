/** A service thread that ends when the address of a request says so. */
import { parentPort } from 'node:worker_threads'
import '../../dist/app/service-thread.js'

parentPort.on('message', ({ value }) => {
  const { end } = value?.request?.query ?? {}
  if (end === 'error') throw new Error('thrown for the test')
  if (end === 'memory') for (const kept = []; ; ) kept.push(new Array(10_000).fill(kept.length))
})
