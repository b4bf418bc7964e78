/**
 * Adds records to the tree of a journal and signs it again and again, until it is killed. Each head is printed once it is
 * signed, as somebody would see it. Record n is always the same, as those of a journal are.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const [dist, folder, keyPath] = process.argv.slice(2)
const load = (path) => import(join(dist, 'gate/journal/tree', path))
const { openSigningKey } = await load('tree-head.js')
const { TreeWriter } = await load('tree-writer.js')
const { checkpointPath, treeFolder } = await load('tree-files.js')

function record(seq) {
  const salt = createHash('md5').update(`salt ${seq}`).digest()
  return { seq, kind: 'decision', at: seq, salt, body: Buffer.from(`{"id":"d${seq}"}`) }
}

const writer = new TreeWriter(folder, openSigningKey(folder, keyPath))
for (let round = 0; ; round += 1) {
  const count = 1 + ((round * 7919) % 60)
  writer.add(Array.from({ length: count }, (_, index) => record(writer.nextSeq + index)))
  writer.sign()
  const head = readFileSync(checkpointPath(treeFolder(folder)), 'utf8')
  writeSync(1, `${JSON.stringify(head)}\n`)
}
