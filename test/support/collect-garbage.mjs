/** Loaded into a server with `--import`: it collects its garbage when it gets SIGUSR2, so that its heap can be compared. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  setFlagsFromString('--expose-gc')
  process.on('SIGUSR2', runInNewContext('gc'))
}
