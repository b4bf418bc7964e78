/** A child process that writes to a disk when its parent asks. */
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AppendOrder, WriteOrder } from './disk-writers.js'

/**
 * Milliseconds of each record from when it is due until it is on disk. What is due during a flush shares
 * the next one.
 */
async function append(order: AppendOrder): Promise<Float64Array> {
  const { path, recordBytes, perSecond, seconds } = order
  const file = await open(path, 'a', 0o600)
  const record = Buffer.alloc(recordBytes, 'x')
  const latenciesMs = new Float64Array(seconds * perSecond)
  const startedAt = performance.now()
  const dueAt = (index: number) => startedAt + (index * 1_000) / perSecond
  for (let next = 0; next < latenciesMs.length; ) {
    const first = next
    const waitMs = dueAt(first) - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    const wokenAt = performance.now()
    // A timer that fires late is not the disk's doing.
    const since = (index: number) => (waitMs > 0 && index === first ? wokenAt : dueAt(index))
    while (next < latenciesMs.length && (next === first || dueAt(next) <= wokenAt)) next += 1
    await file.writev(Array.from({ length: next - first }, () => record))
    await file.datasync()
    const onDiskAt = performance.now()
    for (let index = first; index < next; index += 1) latenciesMs[index] = onDiskAt - since(index)
  }
  await file.close()
  return latenciesMs
}

const chunk = Buffer.alloc(1_048_576, 'x')
const maxFileBytes = 1_073_741_824
const flushEveryMs = 1_000

let isWriting = false

/** As a backup does: at a rate, with a flush every second. Returns the bytes written a second. */
async function write({ path, bytesPerSecond }: WriteOrder): Promise<number> {
  const file = await open(path, 'w', 0o600)
  const startedAt = performance.now()
  let flushedAt = startedAt
  let written = 0
  while (isWriting) {
    const waitMs = startedAt + (written * 1_000) / bytesPerSecond - performance.now()
    if (waitMs > 1) await sleep(waitMs)
    await file.write(chunk, 0, chunk.length, written % maxFileBytes)
    written += chunk.length
    if (performance.now() - flushedAt < flushEveryMs) continue
    await file.sync()
    flushedAt = performance.now()
  }
  await file.close()
  return (written * 1_000) / (performance.now() - startedAt)
}

process.on('message', (order: AppendOrder | WriteOrder | 'stop') => {
  isWriting = order !== 'stop'
  if (order === 'stop') return
  const work = 'recordBytes' in order ? append(order) : write(order)
  void work.then((result) => process.send?.(result))
})
process.on('disconnect', () => process.exit())
