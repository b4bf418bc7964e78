/** Other programs that write to the disk of a measured server. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface AppendOrder {
  readonly path: string
  readonly recordBytes: number
  readonly perSecond: number
  readonly seconds: number
}

export interface WriteOrder {
  readonly path: string
  readonly bytesPerSecond: number
}

export interface DiskWriter {
  /** Appends records and flushes them; gives the milliseconds that each took. */
  append(order: AppendOrder): Promise<Float64Array>
  /** Writes until `stop`, which gives the bytes written a second. */
  write(order: WriteOrder): { stop(): Promise<number> }
  end(): void
}

const tmpfsType = 0x01021994

export function startDiskWriter(): DiskWriter {
  if (statfsSync(tmpdir()).type === tmpfsType) {
    throw new Error(`${tmpdir()} is in memory; set TMPDIR to a folder on a disk`)
  }
  const child = fork(join(import.meta.dirname, 'disk-writer.js'), { serialization: 'advanced' })
  return {
    async append(order) {
      child.send(order)
      return (await nextMessage(child)) as Float64Array
    },
    write(order) {
      child.send(order)
      return {
        async stop() {
          child.send('stop')
          return (await nextMessage(child)) as number
        },
      }
    },
    end: () => child.disconnect(),
  }
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  const [message] = (await once(child, 'message')) as [unknown]
  return message
}
