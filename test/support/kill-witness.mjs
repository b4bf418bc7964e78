/**
 * Loaded into a witness with `--import`: kills it at a point of the work for its next new head, which WITNESS_KILL names.
 */
import fs from 'node:fs'
import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'

const point = process.env.WITNESS_KILL
const kill = () => process.kill(process.pid, 'SIGKILL')
const { renameSync } = fs
let hasStored = false

fs.renameSync = (from, to) => {
  const isHead = String(to).endsWith('.checkpoint')
  if (isHead && point === 'before-rename') kill()
  renameSync(from, to)
  if (isHead && point === 'after-rename') kill()
  hasStored ||= isHead
}
syncBuiltinESMExports()

const { writeHead } = http.ServerResponse.prototype
http.ServerResponse.prototype.writeHead = function (...values) {
  if (hasStored && point === 'before-answer') kill()
  return writeHead.apply(this, values)
}
