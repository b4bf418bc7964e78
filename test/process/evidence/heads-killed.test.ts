/** No two heads that a journal has shown contradict each other, wherever its process is killed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { TreeReader, treeFolder } from '../../../src/gate/journal/tree/tree-files.js'
import { openSigningKey, readHead } from '../../../src/gate/journal/tree/tree-head.js'
import { openCheckpoint } from '../../../src/transparency/checkpoint.js'
import { computeRoot } from '../../../src/transparency/merkle-tree.js'
import { shortOrLong } from '../../support/long.js'

const kills = shortOrLong(20, 500)
const script = join(import.meta.dirname, '../../support/sign-heads.mjs')
const dist = join(import.meta.dirname, '../../../dist')

it(`shows heads of one tree in ${kills} lives`, { timeout: 60_000 + kills * 2_000 }, async () => {
  const parent = mkdtempSync(join(tmpdir(), 'callgate-heads-'))
  const folder = join(parent, 'journal')
  mkdirSync(folder)
  writeFileSync(join(folder, 'origin'), 'callgate/journal/2026-11-26-0a1b2c3d\n')
  const keyPath = join(parent, 'journal.key')
  const seen: string[] = []
  try {
    for (let life = 0; life < kills; life += 1) {
      const child = spawn(process.execPath, [script, dist, folder, keyPath], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const ended = once(child, 'exit')
      // After another number of heads each time, and at once, which is while the next one is written.
      let left = 1 + (life % 23)
      for await (const line of createInterface(child.stdout)) {
        seen.push(JSON.parse(line))
        left -= 1
        if (left === 0) child.kill('SIGKILL')
      }
      expect((await ended)[1]).toBe('SIGKILL')
    }
    const key = openSigningKey(folder, keyPath)
    const last = readHead(treeFolder(folder), key)
    const { node } = new TreeReader(treeFolder(folder), last.size)
    let size = 0
    for (const signed of seen) {
      const head = openCheckpoint(signed, key)
      expect(head.size).toBeGreaterThan(size)
      expect(computeRoot(head.size, node)).toEqual(head.root)
      size = head.size
    }
    expect(seen.length).toBeGreaterThan(kills)
    console.log(`${kills} kills, ${seen.length} heads, ${last.size} records`)
  } finally {
    rmSync(parent, { recursive: true, force: true })
  }
})
