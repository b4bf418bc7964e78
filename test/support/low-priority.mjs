/** Loaded into a server with `--import`: it runs as a user who may not raise a priority, at nice 15. */
import { chownSync } from 'node:fs'
import { setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'

const nobody = 65_534

if (isMainThread) {
  setPriority(15)
  if (process.getuid() === 0) {
    chownSync(process.env.CALLGATE_DATA_DIR, nobody, nobody)
    process.setuid(nobody)
  }
}
